# shellcheck shell=bash
# Sourced by the commands in bin/: puts a fitting Node.js and pnpm on PATH, installs the dependencies
# and generates code. What is there already is left alone, so a second run needs no network.

NODE_PACKAGE=24.21.0 # taken when the system's Node.js is older than 22.18
PNPM_VERSION=11.28.10 # the one in package.json's `packageManager`

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)"
TOOLS="$ROOT/.tools"
SYSTEM_PATH="$PATH"
# With "production", pnpm would leave out what builds and tests.
unset NODE_ENV
export NEXT_TELEMETRY_DISABLED=1 TURBO_TELEMETRY_DISABLED=1

fail() {
  printf 'millrace: %s\n' "$*" >&2
  exit 1
}

# Runs a command without a word; its whole output only when it fails.
quietly() {
  local what="$1" output
  shift
  printf '%s …\n' "$what" >&2
  if ! output="$("$@" 2>&1)"; then
    printf '%s\n' "$output" >&2
    fail "$what failed (output above): $*"
  fi
}

npm_install() { # folder, package@version
  command -v npm >/dev/null || fail "npm is needed to install $2: install Node.js with npm, or Node.js 22.18 or newer and pnpm $PNPM_VERSION"
  mkdir -p "$1" 2>/dev/null || fail "$1 cannot be written: check its owner and permissions"
  printf '{"private":true}\n' >"$1/package.json"
  quietly "installing $2 into .tools" npm_install_in "$1" "$2"
}

# From inside and with the system's Node.js: otherwise (with --prefix, or a Node.js in .tools) npm looks
# for the machine's npmrc, which may name a registry and certificates, in the wrong place.
npm_install_in() {
  cd "$1" && PATH="$SYSTEM_PATH" npm install --no-save --no-package-lock --no-audit --no-fund --loglevel=error \
    --ignore-scripts=false "$2" </dev/null
}

use_node() {
  local version major minor
  command -v node >/dev/null || fail 'Node.js is missing: install version 22.18 or newer (https://nodejs.org)'
  version="$(node --version 2>/dev/null)" || fail "the node on PATH ($(command -v node)) does not run"
  IFS=. read -r major minor _ <<<"${version#v}"
  if ((major > 22 || (major == 22 && minor >= 18))); then return; fi
  ((major >= 20)) || fail "Node.js $version is too old: install version 22.18 or newer (https://nodejs.org)"
  local bin="$TOOLS/node-$NODE_PACKAGE/node_modules/node/bin"
  if [[ "$("$bin/node" --version 2>/dev/null)" != "v$NODE_PACKAGE" ]]; then
    npm_install "$TOOLS/node-$NODE_PACKAGE" "node@$NODE_PACKAGE"
    [[ "$("$bin/node" --version 2>/dev/null)" == "v$NODE_PACKAGE" ]] ||
      fail "npm's package node@$NODE_PACKAGE does not run on this machine: install Node.js 22.18 or newer (https://nodejs.org)"
  fi
  export PATH="$bin:$PATH"
}

use_pnpm() {
  # Asked outside the repository: inside, another version would fetch the one of `packageManager`.
  if [[ "$(cd / && COREPACK_ENABLE_NETWORK=0 pnpm --version 2>/dev/null)" == "$PNPM_VERSION" ]]; then return; fi
  local folder="$TOOLS/pnpm-$PNPM_VERSION"
  if [[ "$(cd / && "$folder/node_modules/.bin/pnpm" --version 2>/dev/null)" != "$PNPM_VERSION" ]]; then
    npm_install "$folder" "pnpm@$PNPM_VERSION"
  fi
  export PATH="$folder/node_modules/.bin:$PATH"
}

# Runs the rest of the arguments when the checksum of standard input is not the one in the stamp.
when_changed() {
  local stamp="$1" what="$2" sum
  shift 2
  sum="$(cksum)"
  if [[ "$(cat "$stamp" 2>/dev/null)" == "$sum" ]]; then return; fi
  quietly "$what" "$@"
  printf '%s\n' "$sum" 2>/dev/null >"$stamp" || fail "$ROOT/$stamp cannot be written: check its owner and permissions"
}

install_dependencies() {
  local files=(pnpm-lock.yaml pnpm-workspace.yaml package.json {apps,packages,tooling}/*/package.json {bench,chaos,e2e}/package.json)
  { node --version && cat "${files[@]}"; } 2>/dev/null |
    when_changed node_modules/.millrace-installed 'installing the dependencies' pnpm_install
}

pnpm_install() {
  local certificates
  # pnpm does not read the machine's npmrc, where companies name the certificates of their proxy.
  certificates="$(PATH="$SYSTEM_PATH" npm config get cafile 2>/dev/null || true)"
  if [[ -z "${NODE_EXTRA_CA_CERTS:-}" && -f "$certificates" ]]; then
    export NODE_EXTRA_CA_CERTS="$certificates"
  fi
  pnpm install --frozen-lockfile --config.confirmModulesPurge=false --config.fetchRetries=1 </dev/null
}

generate_code() {
  [[ -d packages/db/src/generated ]] || rm -f node_modules/.millrace-generated
  find prisma packages/jobs/src/definitions packages/db/src/generate.ts packages/jobs/src/registry/generate.ts \
    -type f -exec cksum {} + | LC_ALL=C sort |
    when_changed node_modules/.millrace-generated 'generating code' pnpm generate
}

cd "$ROOT" || fail "$ROOT cannot be entered"
use_node
use_pnpm
install_dependencies
generate_code
