import { inspect } from 'node:util';

/** Shorter strings are words of the language rather than data of a person. */
const MIN_LENGTH = 4;
/** One line of a longer text is a secret of its own from this length on: errors quote single lines. */
const MIN_LINE_LENGTH = 8;
/** A key that a program would write is its author's word; any other is data, such as an address. */
const AUTHORS_KEY = /^[A-Za-z_$][\w$]*$/;

/**
 * Every string of {@link MIN_LENGTH} or more characters in the value, also as it would be quoted, longest
 * first.
 */
export function secretsIn(value: unknown): string[] {
  const found = new Set<string>();
  const add = (text: string): void => {
    if (text.length < MIN_LENGTH) return;
    for (const form of formsOf(text)) found.add(form);
    if (!text.includes('\n')) return;
    for (const line of text.split('\n').map((each) => each.trim())) {
      if (line.length >= MIN_LINE_LENGTH) add(line);
    }
  };
  const visit = (part: unknown): void => {
    if (typeof part === 'string') {
      add(part);
    } else if (Array.isArray(part)) {
      part.forEach(visit);
    } else if (typeof part === 'object' && part !== null) {
      for (const [key, inner] of Object.entries(part)) {
        if (!AUTHORS_KEY.test(key)) add(key);
        visit(inner);
      }
    }
  };
  visit(value);
  return [...found].sort((a, b) => b.length - a.length);
}

// What quotes a text writes these otherwise.
const ESCAPED = /['"\\\p{Cc}\p{Cs}]/u;

/** The text as it may be quoted: as it is, in a URL, in JSON and by `util.inspect`. */
function formsOf(text: string): string[] {
  const forms = [text, encodeURIComponent(text.toWellFormed())];
  if (ESCAPED.test(text)) {
    const shown = inspect(text, { maxStringLength: Infinity, breakLength: Infinity });
    forms.push(JSON.stringify(text).slice(1, -1), shown.slice(1, -1));
  }
  return forms;
}

/** Beyond so many secrets one pass over the text is faster than one per secret. */
const MANY = 32;
const REDACTED = '[redacted]';

/** The text without any of the secrets. */
export function scrub(text: string, secrets: readonly string[]): string {
  if (secrets.length > MANY) return scrubInOnePass(text, indexOf(secrets));
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, REDACTED), text);
}

/** Secrets by how they begin, longest first. */
type SecretIndex = ReadonlyMap<string, readonly string[]>;

/** A run with thousands of recipients would otherwise hold up its process with every line it logs. */
const indexes = new WeakMap<readonly string[], SecretIndex>();

function indexOf(secrets: readonly string[]): SecretIndex {
  let index = indexes.get(secrets);
  if (!index)
    indexes.set(secrets, (index = Map.groupBy(secrets, (secret) => secret.slice(0, MIN_LENGTH))));
  return index;
}

function scrubInOnePass(text: string, index: SecretIndex): string {
  let rest = '';
  let keptFrom = 0;
  for (let at = 0; at + MIN_LENGTH <= text.length; at++) {
    const found = index
      .get(text.slice(at, at + MIN_LENGTH))
      ?.find((secret) => text.startsWith(secret, at));
    if (found === undefined) continue;
    rest += text.slice(keptFrom, at) + REDACTED;
    keptFrom = at + found.length;
    at = keptFrom - 1;
  }
  return rest + text.slice(keptFrom);
}

/** PostgreSQL stores neither NUL nor half a surrogate pair. */
export function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}

/** A storable copy of plain data in which no string holds any of the secrets. */
export function scrubDeep(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return storable(scrub(value, secrets));
  if (Array.isArray(value)) return value.map((part) => scrubDeep(part, secrets));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, part]) => [
        storable(scrub(key, secrets)),
        scrubDeep(part, secrets),
      ]),
    );
  }
  return value;
}
