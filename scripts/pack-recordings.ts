/**
 * Packs recordings of trtexec into the sets that `--replay` answers from, and the subset that tests read:
 *
 *     node scripts/pack-recordings.ts FOLDER
 *
 * FOLDER holds what a recorder script left: `builds/ nights/1 nights/2 nights/1-profile pairs/ formats/help`, each run
 * a folder with `run.json`, `stdout.log`, `stderr.log` and exports. Bytes are kept exactly, compressed with brotli.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { RECORDING_SET_VERSION } from '../src/trtexec/replay/recording-set.ts';
import { packFolder, recordingOf, ROOT } from './pack-recordings/pack-folder.ts';

const MODELS = ['vit_small', 'vit_base'];
const PRECISIONS = ['fp16', 'fp8'];
const ENGINES = MODELS.flatMap((model) => PRECISIONS.map((precision) => `${model}.${precision}`));
const BATCHES = [1, 8, 32];
const H200 = { gpuName: 'NVIDIA H200', driver: '580.159.04', tensorrt: '10.6.0' } as const;

interface Source {
  /** Folder below the recordings. */
  readonly from: string;
  readonly build: string;
}

interface SetDescription {
  readonly name: string;
  readonly description: string;
  readonly enginePool: string;
  readonly models: readonly string[];
  readonly sources: readonly Source[];
}

const cellsOf = (night: string): Source[] =>
  ENGINES.flatMap((engine) =>
    BATCHES.flatMap((batch) =>
      [0, 1].map((graph) => ({ from: `nights/${night}/${engine}.b${batch}.graph${graph}`, build: engine })),
    ),
  );

const builds: Source[] = ENGINES.map((engine) => ({ from: `builds/${engine}`, build: engine }));
const pair = 'pairs/vit_small.fp16';
const numbers = ['01', '02', '03', '04', '05'];

const SETS: readonly SetDescription[] = [
  {
    name: 'night1',
    description: 'Two vision transformers in FP16 and FP8 on one H200, one run of each cell',
    enginePool: 'h200-2026-11-21',
    models: MODELS,
    sources: [
      ...builds,
      ...cellsOf('1'),
      ...ENGINES.map((engine) => ({ from: `nights/1-profile/${engine}.b8`, build: engine })),
    ],
  },
  {
    name: 'night2',
    description: 'The same engines and cells as night1, eleven minutes later: nothing changed',
    enginePool: 'h200-2026-11-21',
    models: MODELS,
    sources: [...builds, ...cellsOf('2')],
  },
  {
    name: 'pair',
    description:
      'vit_small in FP16 built for batch 8 and for batch 32, five interleaved runs each, on another H200: batch 1 and 8 became slower',
    enginePool: 'h200-2026-11-21-pair',
    models: ['vit_small'],
    sources: [
      { from: `${pair}/normal/build`, build: 'opt8' },
      { from: `${pair}/opt32/build`, build: 'opt32' },
      ...['b1.graph1', 'b8.graph1'].flatMap((cell) =>
        numbers.flatMap((number) => [
          { from: `${pair}/opt32/${cell}/${number}-normal`, build: 'opt8' },
          { from: `${pair}/opt32/${cell}/${number}-opt32`, build: 'opt32' },
        ]),
      ),
      { from: `${pair}/normal/profile`, build: 'opt8' },
      { from: `${pair}/opt32/profile`, build: 'opt32' },
    ],
  },
];

function modelOf(model: string) {
  const precisions = PRECISIONS.map((precision) => [
    `${model}_${precision}.onnx`,
    { precision, identity: `${model}_${precision}.onnx of the H200 recordings of 2026-11-21` },
  ]);
  return { inputs: { input: [-1, 3, 224, 224] }, onnx: Object.fromEntries(precisions) };
}

const [recordings] = process.argv.slice(2);
if (recordings === undefined || !existsSync(join(recordings, 'builds'))) {
  process.stderr.write('usage: node scripts/pack-recordings.ts FOLDER-OF-RECORDINGS\n');
  process.exit(2);
}
for (const set of SETS) {
  const target = join(ROOT, 'recordings', set.name);
  rmSync(target, { recursive: true, force: true });
  const packed = set.sources.map((source) => {
    const folder = source.from.replaceAll('/', '_');
    packFolder(join(recordings, source.from), join(target, folder));
    return recordingOf(folder, source.build, join(target, folder));
  });
  packFolder(join(recordings, 'formats/help'), join(target, 'help'));
  const manifest = {
    schemaVersion: RECORDING_SET_VERSION,
    name: set.name,
    description: set.description,
    tensorrt: H200.tensorrt,
    enginePool: set.enginePool,
    environment: H200,
    models: Object.fromEntries(set.models.map((model) => [model, modelOf(model)])),
    recordings: packed,
  };
  writeFileSync(join(target, 'manifest.json'), `${JSON.stringify(manifest, null, 1)}\n`);
  process.stdout.write(`${set.name}: ${packed.length} recordings\n`);
}

/** Groups of which every run is kept for the tests, in test/fixtures/trtexec. */
const TEST_GROUPS = ['formats', 'failures', 'cpu-contended', 'gpu-contended', 'level0/profile'];
/** Times that are large and whose like is kept elsewhere. */
const NOT_FOR_TESTS = ['formats/enqueue-bound-graph/times.json.gz'];

const TELEMETRY = 'nvidia-smi-loop.csv';

const fixtures = join(ROOT, 'test', 'fixtures', 'trtexec');
rmSync(fixtures, { recursive: true, force: true });
for (const group of TEST_GROUPS) {
  const folder = join(recordings, group);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const from = join(folder, entry.name);
    if (entry.isDirectory()) packFolder(from, join(fixtures, group, entry.name));
    else {
      mkdirSync(join(fixtures, group), { recursive: true });
      cpSync(from, join(fixtures, group, entry.name));
    }
  }
}
/** Without its 6309 queries, which say nothing that shorter runs do not. */
const SUSTAINED = join(fixtures, 'sustained');
packFolder(join(recordings, 'sustained'), SUSTAINED);
for (const name of readdirSync(SUSTAINED)) {
  if (/^(?:times|after|nvidia)/.test(name)) rmSync(join(SUSTAINED, name));
}
cpSync(join(recordings, 'sustained', TELEMETRY), join(SUSTAINED, TELEMETRY));
for (const path of NOT_FOR_TESTS) rmSync(join(fixtures, path.replace(/\.gz$/, '.br')), { force: true });
