/** The import law (docs and AGENTS.md draw it): who may import whom, and why. */

const TESTS = String.raw`\.test\.tsx?$`;
const TESTING = String.raw`^packages/[^/]+/src/testing([/.-])`;
const JOBS = '^packages/jobs/src';

/** @param {...string} names */
const layer = (...names) => `${JOBS}/(${names.join('|')})/`;
/** Everything in packages/jobs/src but these rooms. @param {...string} names */
const otherLayersThan = (...names) => `${JOBS}/(?!(${names.join('|')})/)`;
/** @param {...string} names */
const npm = (...names) => `(^|/)node_modules/(${names.join('|')})(/|$)`;

/**
 * A room of packages/jobs that may import itself and the rooms below it only.
 * @param {string} name
 * @param {readonly string[]} below
 * @param {string} comment
 */
const room = (name, below, comment) => ({
  name: `jobs-${name}`,
  severity: /** @type {const} */ ('error'),
  comment,
  from: { path: layer(name), pathNot: TESTS },
  to: { path: otherLayersThan(name, ...below) },
});

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-circular',
      severity: 'error',
      comment:
        'Modules in a cycle can only be understood, tested and loaded together. Types count: a cycle ' +
        'of types is a room whose border is drawn in the wrong place.',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      comment:
        'An import that resolves to nothing fails when it is loaded, perhaps only in production.',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-orphans',
      severity: 'error',
      comment: 'A module that imports nothing and that nobody imports is left over.',
      from: {
        orphan: true,
        // Next.js, vitest and the tools find these by their names; bin/ starts the last two.
        pathNot: [
          TESTS,
          String.raw`^apps/web/src/(app/|instrumentation|proxy)`,
          String.raw`\.config\.(ts|mjs)$`,
          String.raw`\.d\.ts$`,
          '^bench/src/',
          '^tooling/',
        ],
      },
      to: {},
    },

    room(
      'contract',
      [],
      'The contract is plain data and zod, and browsers load it: it knows nothing of how jobs are ' +
        'written, run or managed.',
    ),
    room(
      'authoring',
      ['contract'],
      'What a job author imports is small and stable; it must not pull in the machinery.',
    ),
    room(
      'definitions',
      ['contract', 'authoring'],
      'A job gets its database and enqueue through its context. A job that reaches into engine or ' +
        'manager ties the machinery to itself and cannot be tested without it.',
    ),
    room(
      'registry',
      ['contract', 'authoring', 'definitions'],
      'The registry lists jobs; whoever runs or manages them receives it.',
    ),
    room(
      'engine',
      ['contract', 'authoring'],
      'The engine receives a registry. An import of one job would make it an engine for that job.',
    ),
    room(
      'manager',
      ['contract', 'authoring', 'engine'],
      "Operators' verbs stand on the engine and receive the registry, like the engine itself.",
    ),

    room(
      'doctor',
      ['contract', 'authoring', 'engine', 'manager'],
      'The doctor looks at facts in the database and at a registry that it is given.',
    ),
    {
      name: 'definition-without-handler',
      severity: 'error',
      comment: 'Any process loads all definitions; only the one that runs a job loads its handler.',
      from: { path: String.raw`/definition\.ts$` },
      to: { path: String.raw`/handler\.ts$` },
    },
    {
      name: 'web-runs-no-queued-job',
      severity: 'error',
      comment: 'Handlers of queued jobs, and all that they load, stay out of the web server.',
      from: { path: '^apps/web/' },
      to: { path: String.raw`^packages/jobs/src/registry/handlers\.gen\.ts$`, reachable: true },
    },

    {
      name: 'contract-is-for-browsers',
      severity: 'error',
      comment: 'Browsers load the contract: Node.js modules and the database are not there.',
      from: { path: layer('contract'), pathNot: TESTS },
      to: { path: ['^packages/db/', npm('pg', 'graphile-worker', 'pino')] },
    },
    {
      name: 'contract-without-node',
      severity: 'error',
      comment: 'Browsers load the contract: Node.js modules are not there.',
      from: { path: layer('contract'), pathNot: TESTS },
      to: { dependencyTypes: ['core'] },
    },

    {
      name: 'apps-apart',
      severity: 'error',
      comment: 'Each app is deployed alone. What two apps share belongs into a package.',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'packages-below-apps',
      severity: 'error',
      comment: 'A package serves every app; one that imports an app serves that app alone.',
      from: { path: '^packages/', pathNot: '^packages/client/' },
      to: { path: '^apps/' },
    },
    {
      name: 'client-knows-types-only',
      severity: 'error',
      comment:
        'The typed client is deployed elsewhere: of this repository it takes the type of the router and ' +
        'nothing that exists at run time.',
      from: { path: '^packages/client/src/', pathNot: TESTS },
      to: { path: '^(apps|packages/(?!client/))', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'db-below-jobs',
      severity: 'error',
      comment: 'packages/db is the floor: it must start and migrate without any job code.',
      from: { path: '^packages/db/' },
      to: { path: '^packages/(?!db/)' },
    },
    {
      name: 'product-without-tools',
      severity: 'error',
      comment: 'What is deployed must not need what only stands in a checkout.',
      from: { path: '^(apps|packages)/', pathNot: [TESTS, TESTING] },
      to: { path: '^(tooling|bench|chaos|e2e)/' },
    },
    {
      name: 'product-without-tests',
      severity: 'error',
      comment: 'Test helpers need vitest, which is not deployed.',
      from: { path: '^(apps|packages)/', pathNot: [TESTS, TESTING] },
      to: { path: [TESTS, TESTING, npm('vitest')] },
    },

    {
      name: 'prisma-only-in-db',
      severity: 'error',
      comment:
        'packages/db exports the client. Whoever imports the generated code or an adapter makes a ' +
        'second client with connections of its own, and a change of Prisma reaches all of us.',
      from: { pathNot: '^packages/db/' },
      to: { path: ['^packages/db/src/generated/', npm('@prisma', 'prisma')] },
    },
    {
      name: 'graphile-only-in-engine',
      severity: 'error',
      comment:
        'graphile-worker delivers tickets, no more. Two rooms know it, so that it can be upgraded or ' +
        'replaced there.',
      from: { pathNot: ['^packages/db/', `${JOBS}/engine/`, '^(bench|chaos)/', TESTS] },
      to: { path: npm('graphile-worker') },
    },
    {
      name: 'telemetry-sdk-only-in-telemetry',
      comment:
        "Whoever measures or traces uses OpenTelemetry's API, which does nothing until a process " +
        'registers the SDK. One package knows the SDK.',
      severity: 'error',
      from: { pathNot: ['^packages/telemetry/', TESTS, TESTING] },
      to: { path: String.raw`(^|/)node_modules/@opentelemetry/(?!api(/|$))` },
    },
    {
      name: 'pg-only-in-packages',
      severity: 'error',
      comment:
        'Apps call verbs; they neither connect nor query. Types of pg may be imported anywhere.',
      from: { pathNot: ['^packages/', '^(tooling|bench|chaos)/', TESTS] },
      to: { path: npm('pg', 'pg-pool'), dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'prisma-client-where-composed',
      severity: 'error',
      comment:
        'An app makes its client where it is composed and hands it to verbs: two hops, route → verb ' +
        '→ database.',
      from: {
        path: '^apps/',
        pathNot: [TESTS, '^apps/web/src/server/', String.raw`^apps/worker/src/main\.ts$`],
      },
      to: { path: String.raw`^packages/db/src/client\.ts$` },
    },

    {
      name: 'no-development-dependency',
      severity: 'error',
      comment: 'What is deployed is installed without development dependencies.',
      from: {
        path: '^(apps|packages)/[^/]+/src/',
        pathNot: [TESTS, TESTING, String.raw`/generate\.ts$`],
      },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only', 'npm'] },
    },
    {
      name: 'no-deprecated',
      severity: 'error',
      comment: 'A deprecated package has no one who repairs it.',
      from: {},
      to: { dependencyTypes: ['deprecated'] },
    },
    {
      name: 'no-deprecated-node',
      severity: 'error',
      comment: 'A deprecated module of Node.js is going away.',
      from: {},
      to: { dependencyTypes: ['core'], path: '^(punycode|domain|constants|sys|querystring)$' },
    },
  ],
  options: {
    parser: 'swc',
    moduleSystems: ['es6', 'cjs'],
    doNotFollow: { path: ['node_modules', '^packages/db/src/generated/'] },
    exclude: { path: [String.raw`(^|/)\.next/`, 'next-env', '(^|/)test-results/'] },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
      extensions: ['.ts', '.tsx', '.mjs', '.js', '.json', '.css', '.d.ts'],
    },
  },
};
