// src/ is a platform and features on top of it. The platform never imports a feature; a feature imports the platform
// and, of another feature, what it offers; features form no circle.
/** Everything that knows the domain or the world, and no feature. */
const PLATFORM =
  'errors\\.ts|exit-codes\\.ts|records|text|statistics|judge|layers|matrix|trtexec|tools|harnesses|machine|process|files|artefacts|variants|engines|store|run|terminal|html|selection|cli';

/** Folders that only turn values into values: no clock, file, process, environment or console. */
const PURE = 'records|text|statistics|judge|layers|matrix|harnesses|terminal';

export default {
  forbidden: [
    {
      name: 'the-platform-knows-no-feature',
      severity: 'error',
      from: { path: `^src/(${PLATFORM})(/|$)` },
      to: { path: '^src/features/|^src/(cli|bench)\\.ts$' },
    },
    {
      name: 'features-do-not-import-the-list-of-commands',
      severity: 'error',
      from: { path: '^src/features/' },
      to: { path: '^src/(cli|bench)\\.ts$' },
    },
    {
      name: 'features-form-no-circle',
      severity: 'error',
      comment: 'folders are the modules here',
      scope: 'folder',
      from: { path: '^src/features/[^/]+$' },
      to: { path: '^src/features/[^/]+$', circular: true },
    },
    {
      name: 'a-feature-is-used-through-its-index',
      severity: 'error',
      from: { path: '^src/features/([^/]+)/' },
      to: { path: '^src/features/', pathNot: '^src/features/($1/|[^/]+/index\\.ts$)' },
    },
    {
      name: 'statistics-know-no-domain',
      severity: 'error',
      from: { path: '^src/statistics/' },
      to: { path: '^src/(?!statistics/)' },
    },
    {
      name: 'judging-knows-no-files',
      severity: 'error',
      from: { path: '^src/judge/' },
      to: { path: '^src/(?!judge/|statistics/|records/|text/|layers/|machine/requests|trtexec/|errors)' },
    },
    {
      name: 'pure-folders-do-no-io',
      severity: 'error',
      comment: 'node:crypto and node:path are values in, values out; node:vm ends a pattern that takes too long',
      from: { path: `^src/(${PURE})/` },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(crypto|path|vm)$' },
    },
    {
      name: 'one-folder-starts-processes',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/process/' },
      to: { path: 'node_modules/execa|^(node:)?child_process$' },
    },
    {
      name: 'what-reads-a-store-works-on-every-system',
      severity: 'error',
      comment: 'locks, GPUs and processes are of Linux; parts of these features that measure have a folder of their own',
      from: { path: '^src/features/(plan|import|parse|compare|check|trend|report)/', pathNot: '^src/features/compare/run/' },
      to: {
        path: '^src/(machine|run)/|^src/process/(lock|marked-processes|printed-lines|process-identity)',
        pathNot: '^src/(machine/requests|run/stored-plan)\\.ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'only-the-store-knows-sqlite',
      severity: 'error',
      from: { pathNot: '^src/(store|tools/nsys)/' },
      to: { path: 'node_modules/(drizzle-orm|better-sqlite3)' },
    },
    {
      name: 'the-page-runs-in-a-browser',
      severity: 'error',
      comment: 'it shares types, numbers and columns with the report that it is a part of, and nobody imports it',
      from: { path: '^src/html/browser/' },
      to: { pathNot: '^src/(html|terminal|judge|statistics|records|text|layers)/' },
    },
    {
      name: 'nobody-imports-the-page',
      severity: 'error',
      from: { pathNot: '^src/html/browser/' },
      to: { path: '^src/html/browser/' },
    },
    {
      name: 'no-circles',
      severity: 'error',
      comment: 'a command loads its feature when it is called, and the feature takes the type of its options from it',
      from: {},
      to: { circular: true, viaOnly: { pathNot: '^src/features/.*/command\\.ts$' } },
    },
    {
      name: 'a-command-loads-its-feature-when-called',
      severity: 'error',
      comment: 'a static import would load the feature at every start',
      from: { path: '^src/features/.*/command\\.ts$' },
      to: { path: '^src/features/', dependencyTypesNot: ['type-only', 'dynamic-import'] },
    },
    {
      name: 'a-command-is-loaded-by-the-list-alone',
      severity: 'error',
      comment: 'others take types from it',
      from: { pathNot: '^src/cli\\.ts$' },
      to: { path: '^src/features/.*/command\\.ts$', dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.json'] },
  },
};
