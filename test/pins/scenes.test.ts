import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';

import { bench, ROOT, sharedFolder, temporaryFolder } from '../support/bench.ts';
import { dumpTables } from '../support/store-dump.ts';
import { kept, unpack } from './kept.ts';

/** Command lines over a kept place, by the name under which their output is kept. */
type Scenes = Readonly<Record<string, readonly string[]>>;

const CELL = 'model=vit_small & batch=8';
const [NIGHT1, NIGHT2] = ['231f4db7', '3710ee87'];
/** The pair with its engine tuned for batch 32. */
const AFTER = 'a8d7c37e';
const PROFILED = 'a278e9d7';
const TIMED = '2e93b18a';
const FAILED = '54047bc1';
const IMPORTED = '4910a8cc';

/** Recordings of an H200, replayed; and what was imported. */
const RECORDED: Scenes = {
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
const HISTORY: Scenes = {
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
const FILES: Scenes = {
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

/** Files that lie packed in the project: what stands for each on a command line. */
const PACKED = { HISTORIES: 'synthetic-dev', AB: 'ab-dev' };

/** Of the lines of such a file: all of them take seconds. */
const EVERY = 6;

describe.each([
  { place: 'recorded', scenes: RECORDED },
  { place: 'history', scenes: HISTORY },
  { place: 'files', scenes: FILES },
])('$place', ({ place, scenes }) => {
  let folder = '';
  beforeAll(async () => {
    folder = sharedFolder();
    if (place !== 'files') {
      unpack(place, join(folder, 'kept'));
      // Brought up to date once, which is said on standard error.
      await bench(['ls', 'sweeps'], { cwd: join(folder, 'kept') });
      return;
    }
    for (const [name, file] of Object.entries(PACKED)) {
      const packed = join(ROOT, 'test', 'fixtures', 'detection', `${file}.jsonl.br`);
      const lines = brotliDecompressSync(readFileSync(packed)).toString('utf8').split('\n');
      writeFileSync(join(folder, name), `${lines.filter((_, number) => number % EVERY === 0).join('\n')}\n`);
    }
  });

  test.concurrent.each(Object.entries(scenes))('%s', async (name, args) => {
    const cwd = place === 'files' ? ROOT : join(folder, name);
    if (place !== 'files') cpSync(join(folder, 'kept'), cwd, { recursive: true, preserveTimestamps: true });
    const words = args.map((word) => (word in PACKED ? join(folder, word) : word));
    const { code, stdout, stderr } = await bench(words, { cwd });
    const said = `exit code ${code}\n${stderr}${args.includes('--html') ? dataIn(stdout) : stdout}`;
    const text = withoutRefs(said).replaceAll(cwd, '~').replaceAll(folder, '~').replaceAll(ROOT, '~');
    expect(text).toBe(kept(`${place}/${name}.txt`, text));
  });
});

/** References of builds depend on where the project lies: `ids.test.ts` pins them. Here they are numbered. */
function withoutRefs(text: string): string {
  const refs = new Set([...text.matchAll(/"(?:build|variant)Ref": "([0-9a-f]{32})"/g)].map(([, ref = '']) => ref));
  let rest = text;
  for (const [index, ref] of [...refs].entries()) {
    rest = rest.replaceAll(ref, `ref ${index}`).replaceAll(ref.slice(0, 8), `ref ${index}`);
  }
  return rest;
}

/** What the script of a page reads, on lines of its own. */
function dataIn(html: string): string {
  const [, json = ''] = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html) ?? [];
  return JSON.stringify(JSON.parse(json), null, 1);
}

/** Where the sweeps were begun, and where bench and its recordings lay. */
const [PLACE_THEN, BENCH_THEN] = ['/tmp/bench-pins/interrupted', '/tmp/bench-pins/bench'];

/** One was ended by Ctrl-C in its third run, the other by SIGKILL: its trtexec ended its run alone. */
const SWEEPS = { 'Ctrl-C': '74930f72', SIGKILL: '28594b13' };

/** Times of day, how long processes of today take, places, random ids, and checksums of rows that hold these. */
const PASSING = {
  attempts: ['started_at', 'ended_at'],
  invocations: ['invocation_id', 'argv'],
  runs: ['invocation_id', 'started_at', 'wall_s'],
  sweeps: ['finished_at', 'plan'],
};

test('sweeps that were interrupted then are resumed: the same runs, ids and numbers', async () => {
  const folder = temporaryFolder();
  unpack('interrupted', folder);
  move(folder);
  const texts: string[] = [];
  for (const id of Object.values(SWEEPS)) {
    // The identity of a matrix holds absolute paths of models: it is pinned with the other ids.
    const { code, stderr: printed } = await bench(['run', '--resume', id, '--anyway'], { cwd: folder });
    const stderr = printed.replace(/^note: bench migrated the store[^\n]*\n/, '');
    const expected = [0, expect.stringMatching(/^note: continuing although the matrix \S+ has changed\n/)];
    expect([code, stderr]).toEqual(expected);
    texts.push(stderr.replaceAll(ROOT, '~'));
  }
  const tables = dumpTables(join(folder, 'bench.sqlite'), PASSING);
  const content = JSON.stringify({ texts, tables }, null, 1).replaceAll(folder, '~');
  expect(content).toBe(kept('interrupted/resumed.txt', content));
});

/** The store and its folders lie here now, and not where they were made. */
function move(folder: string): void {
  const moved = (text: string): string => text.replaceAll(PLACE_THEN, folder).replaceAll(BENCH_THEN, ROOT);
  const db = new Database(join(folder, 'bench.sqlite'));
  db.function('moved', { deterministic: true }, (text) => moved(String(text)));
  db.exec('UPDATE sweeps SET plan = moved(plan) WHERE plan IS NOT NULL');
  db.close();
  for (const name of readdirSync(join(folder, 'artefacts'), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.json')) continue;
    const path = join(folder, 'artefacts', name);
    writeFileSync(path, moved(readFileSync(path, 'utf8')));
  }
}
