// Data goes one way through the rooms of src/: a room imports from rooms before it and from domain, never from one
// behind it. Commands stand on top and are the only place where all of them meet.
const ROOMS = [
  'domain',
  'drivers',
  'matrix',
  'plan',
  'run',
  'replay',
  'parse',
  'artefacts',
  'store',
  'ingest',
  'analyse',
  'report',
  'git',
  'commands',
];

/** Rooms that only turn values into values: no clock, file, process, environment or console. */
const PURE = ['domain', 'drivers', 'matrix', 'plan', 'parse', 'analyse', 'report'];

const oneWay = ROOMS.slice(0, -1).map((room, place) => ({
  name: `${room}-imports-only-from-before`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: { path: `^src/(${[...ROOMS.slice(place + 1), 'cli'].join('|')})` },
}));

export default {
  forbidden: [
    ...oneWay,
    {
      name: 'analyse-knows-no-files',
      severity: 'error',
      from: { path: '^src/analyse/' },
      to: { path: '^src/(?!analyse/|domain/)' },
    },
    {
      name: 'pure-rooms-do-no-io',
      severity: 'error',
      comment: 'node:crypto and node:path are values in, values out; node:module loads on demand, node:vm ends a pattern that takes too long',
      from: { path: `^src/(${PURE.join('|')})/` },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(crypto|path|module|vm)$' },
    },
    {
      name: 'one-file-starts-processes-for-runs',
      severity: 'error',
      from: { pathNot: '^src/run/spawn\\.ts$' },
      to: { path: 'node_modules/execa' },
    },
    {
      name: 'only-the-store-knows-sqlite',
      severity: 'error',
      from: { pathNot: '^src/store/' },
      to: { path: 'node_modules/(drizzle-orm|better-sqlite3)' },
    },
    {
      name: 'the-page-runs-in-a-browser',
      severity: 'error',
      comment: 'it shares types, numbers and columns with the report that it is a part of, and nobody imports it',
      from: { path: '^src/page/' },
      to: { pathNot: '^src/(page|report|analyse|domain)/' },
    },
    { name: 'nobody-imports-the-page', severity: 'error', from: { pathNot: '^src/page/' }, to: { path: '^src/page/' } },
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.json'] },
  },
};
