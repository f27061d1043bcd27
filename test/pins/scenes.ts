/** Command lines over a kept place, by the name under which their output is kept. */
export type Scenes = Readonly<Record<string, readonly string[]>>;

const CELL = 'model=vit_small & batch=8';
const [NIGHT1, NIGHT2] = ['231f4db7', '3710ee87'];
/** The pair with its engine tuned for batch 32. */
const AFTER = 'a8d7c37e';
const PROFILED = 'a278e9d7';
const TIMED = '2e93b18a';
const FAILED = '54047bc1';
const IMPORTED = '4910a8cc';

/** Recordings of an H200, replayed; and what was imported. */
export const RECORDED: Scenes = {
  sweeps: ['ls', 'sweeps', '--json'],
  cells: ['ls', 'cells', '--json'],
  'show-cell': ['show', CELL, '--json'],
  'show-sweep': ['show', NIGHT2, '--json'],
  'show-run': ['show', PROFILED, '--json'],
  'show-imported': ['show', IMPORTED, '--json'],
  'show-samples': ['show', TIMED, '--samples'],
  compare: ['compare', 'baseline:before', AFTER, '--json'],
  'compare-nights': ['compare', NIGHT1, NIGHT2, '--json'],
  'compare-p99': ['compare', NIGHT1, NIGHT2, '--metric', 'p99Ms', '--json'],
  why: ['why', CELL, 'baseline:before', AFTER, '--json'],
  layers: ['layers', CELL, '--all', '--json'],
  'layers-blocks': ['layers', CELL, '--group-by', 'block', '--json'],
  'layers-diff': ['layers', CELL, '--diff', 'baseline:before', AFTER, '--json'],
  trend: ['trend', '--provenance', 'recorded', '--json'],
  'trend-imported': ['trend', '--json'],
  check: ['check', '--json'],
  pareto: ['choose', '--at', NIGHT2, '--json'],
  slo: ['choose', '--at', NIGHT2, '--max-latency', '2', '--json'],
  explain: ['show', TIMED, '--next', '--json'],
  'explain-failed': ['show', FAILED, '--next', '--json'],
  repro: ['repro', TIMED, '--json'],
  'repro-script': ['repro', TIMED, '--script', '-'],
  'export-chrome': ['export', PROFILED, '--format', 'chrome-trace'],
  baselines: ['ls', 'baselines', '--json'],
  engines: ['ls', 'engines', '--json'],
  csv: ['report', NIGHT1, NIGHT2, '--csv', '-'],
  markdown: ['report', NIGHT1, NIGHT2, '--md', '-'],
  junit: ['report', NIGHT1, NIGHT2, '--junit', '-'],
  openmetrics: ['report', NIGHT1, NIGHT2, '--openmetrics', '-'],
  bmf: ['report', NIGHT1, NIGHT2, '--bmf', '-'],
  html: ['report', NIGHT1, NIGHT2, '--html', '-'],
};

/** Simulated nights, in which something got slower, was found, and one cell fails. */
export const HISTORY: Scenes = {
  sweeps: ['ls', 'sweeps', '--json'],
  check: ['check', '--json'],
  'check-night-20': ['check', '--as-of', '2026-01-21', '--json'],
  'check-p99': ['check', '--metric', 'p99Ms', '--json'],
  trend: ['trend', '--json'],
  compare: ['compare', 'latest~6', 'latest', '--json'],
  noise: ['noise', '--json'],
  why: ['why', 'precision=fp8 & batch=2', 'latest~6', 'latest', '--json'],
  pareto: ['choose', '--json'],
  csv: ['report', 'latest~6', 'latest', '--csv', '-'],
  markdown: ['report', '--night', '--md', '-'],
  junit: ['report', '--night', '--junit', '-'],
  openmetrics: ['report', '--openmetrics', '-'],
  bmf: ['report', '--bmf', '-'],
  html: ['report', '--html', '-', '--last', '8'],
};

const TRTEXEC = 'test/fixtures/trtexec';

/** Over files alone, in the project's own folder. */
export const FILES: Scenes = {
  'parse-run': ['parse', `${TRTEXEC}/cpu-contended/resnet_small.fp16.b1.graph0`, '--json'],
  'parse-failures': ['parse', `${TRTEXEC}/failures`, '--json'],
  'parse-machine': ['parse', 'test/fixtures/h100', '--json'],
  'parse-guide': ['parse', 'test/fixtures/guide/listing-06-fp16-summary.log', '--json'],
  'detect-history': ['detect', 'HISTORIES'],
  'detect-ab': ['detect', 'AB', '--ab'],
  'plan-quickstart': ['plan', 'matrices/quickstart.yaml', '--seed', '1', '--json'],
  'plan-nightly-10': planned('nightly', '10.7'),
  'plan-nightly-11': planned('nightly', '11.0'),
  'plan-deployment': planned('deployment', '11.0'),
  'inspect-model': ['model', 'inspect', 'test/fixtures/onnx/vit_tiny.onnx', '--json'],
  'schema-matrix': ['schema', 'matrix'],
};

function planned(matrix: string, tensorrt: string): readonly string[] {
  return ['plan', `matrices/${matrix}.yaml`, '--tensorrt', tensorrt, '--seed', '1', '--json'];
}
