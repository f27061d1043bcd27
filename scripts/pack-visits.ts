/**
 * Packs what visits to machines with a GPU stored (scripts/real-gpu.ts) into sets of recordings:
 *
 *     node scripts/pack-visits.ts FOLDER
 *
 * FOLDER holds `numbers`, `referee` and `gpus`, each with the `artefacts` of a visit. UUIDs of GPUs are zeroed, names of
 * hosts left out; else bytes are kept exactly, compressed with brotli.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { parseRunManifest } from '../src/artefacts/run-manifest.ts';
import { RECORDING_SET_VERSION } from '../src/trtexec/replay/recording-set.ts';
import { isRecord } from '../src/text/unknown-values.ts';
import { copyHelp, packFolder, recordingOf, ROOT } from './pack-recordings/pack-folder.ts';

interface Chosen {
  /** A visit and its sweeps by the beginnings of their ids, in the order of their runs. */
  readonly visit: string;
  readonly sweeps: readonly string[];
  /** Labels of runs, as `resnet.fp16.level1.b8.graph1`. */
  readonly runs: RegExp;
}

interface SetDescription {
  readonly name: string;
  readonly description: string;
  readonly gpuName: string;
  readonly chosen: readonly Chosen[];
  /** These runs keep the time of each query. */
  readonly withTimes: RegExp;
  readonly withProfile: RegExp;
}

const DAY = '2026-11-23';
/** Of each cell and engine. */
const MOST_RUNS = 2;

const SETS: readonly SetDescription[] = [
  {
    name: 'h100',
    description:
      'A ResNet-18 and a ViT-Ti/16 in FP16 and FP8 on one H100, engines of builder level 3, two runs of each cell; the ResNet in FP16 also of level 0, both in FP16 also of level 1',
    gpuName: 'NVIDIA H100 80GB HBM3',
    chosen: [
      { visit: 'numbers', sweeps: ['0d2c1b'], runs: /^resnet\.fp16\.level0$/ },
      { visit: 'numbers', sweeps: ['8f9996'], runs: /./ },
      { visit: 'numbers', sweeps: ['5cd346'], runs: /./ },
      { visit: 'referee', sweeps: ['1fc255'], runs: /^(?:resnet|vit)\.fp16\.level1(?:\.b[18]\.graph1)?$/ },
    ],
    withTimes: /^$/,
    withProfile: /\.level[03]\.b8\.graph1$/,
  },
  {
    name: 'h200',
    description:
      'The same models on a machine with two H200: FP16 and FP8, batches 1 and 8, engines of builder level 1, two runs of each cell',
    gpuName: 'NVIDIA H200',
    chosen: [{ visit: 'gpus', sweeps: ['f9e951'], runs: /./ }],
    // Two levels of time that its host makes.
    withTimes: /^vit\.fp8\.level1\.b1\.graph0_2$/,
    withProfile: /^$/,
  },
];

function anonymous(bytes: Buffer): Buffer {
  const text = bytes
    .toString('utf8')
    .replaceAll(/GPU-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, 'GPU-00000000-0000-0000-0000-000000000000');
  return Buffer.from(text);
}

/** Exports that a command line asks for and that are left out here are named in `run.json`. */
function withOmitted(runJson: Buffer, omitted: readonly string[]): Buffer {
  const manifest: unknown = JSON.parse(runJson.toString('utf8'));
  if (!isRecord(manifest)) throw new Error('run.json: no object');
  const host = isRecord(manifest['environment']) ? { environment: { ...manifest['environment'], host: null } } : {};
  return Buffer.from(`${JSON.stringify({ ...manifest, ...host, ...(omitted.length > 0 ? { omitted } : {}) })}\n`);
}

function manifestIn(folder: string) {
  const reading = parseRunManifest(readFileSync(join(folder, 'run.json'), 'utf8'));
  if (reading.kind === 'faulty') throw new Error(`${folder}: ${reading.problem}`);
  return reading.manifest;
}

interface Run {
  readonly folder: string;
  readonly role: string;
  readonly build: string;
  readonly label: string;
  readonly startedAt: string;
}

/** The runs of a visit that set out with an engine of it, with labels, in the order in which they ran. */
function runsOf(visit: string, sweeps: readonly string[]): Run[] {
  const folders = readdirSync(visit, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((sweep) => readdirSync(join(visit, sweep.name)).map((run) => ({ sweep: sweep.name, run })))
    .filter(({ run }) => !run.endsWith('.json'))
    .map(({ sweep, run }) => ({ sweep, folder: join(visit, sweep, run) }))
    .map((entry) => ({ ...entry, manifest: manifestIn(entry.folder) }));
  const builds = new Map(
    folders.flatMap(({ manifest }) => (manifest.role === 'build' ? [[manifest.engineKey, nameOfBuild(manifest)]] : [])),
  );
  return folders
    .filter(({ sweep }) => sweeps.some((start) => sweep.startsWith(start)))
    .flatMap(({ folder, manifest }) => {
      const { role, engineKey, cell, requested, startedAt } = manifest;
      const build = builds.get(engineKey);
      if (build === undefined || role === null) return [];
      const batch = Object.values(cell?.shapes ?? {})[0]?.[0];
      const label = role === 'build' ? build : `${build}.b${batch}.graph${requested.cudaGraph === true ? 1 : 0}`;
      return [{ folder, role, build, label, startedAt: startedAt ?? '' }];
    })
    .toSorted((a, b) => a.startedAt.localeCompare(b.startedAt));
}

function nameOfBuild({ argv }: ReturnType<typeof manifestIn>): string {
  const text = argv?.join(' ') ?? '';
  const part = (pattern: RegExp): string => pattern.exec(text)?.[1] ?? '';
  const precision = /--noTF32/.test(text) ? 'fp32' : /_fp8\.onnx/.test(text) ? 'fp8' : 'fp16';
  const tuned = /--optShapes=input:32x/.test(text) ? '.opt32' : '';
  return `${part(/\/(resnet|vit)_small/)}.${precision}.level${part(/--builderOptimizationLevel=(\d)/)}${tuned}`;
}

function packSet(set: SetDescription, visits: string): void {
  const target = join(ROOT, 'recordings', set.name);
  rmSync(target, { recursive: true, force: true });
  const counts = new Map<string, number>();
  const chosen = set.chosen.flatMap(({ visit, sweeps, runs }) =>
    runsOf(join(visits, visit, 'artefacts'), sweeps).filter(
      ({ role, label }) => runs.test(label) && (role !== 'profile' || set.withProfile.test(label)),
    ),
  );
  const recordings = chosen.flatMap(({ folder, role, build, label }) => {
    const kind = role === 'timed' ? label : `${role}_${label}`;
    const number = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, number);
    if (number > MOST_RUNS) return [];
    const name = role === 'timed' ? `${kind}_${number}` : kind;
    const omitted = role === 'timed' && !set.withTimes.test(name) ? ['times.json'] : [];
    packFolder(folder, join(target, name), (file, bytes) => {
      if (file.startsWith('attempt-') || omitted.includes(file)) return null;
      return anonymous(file === 'run.json' ? withOmitted(bytes, omitted) : bytes);
    });
    return recordingOf(name, build, join(target, name));
  });
  copyHelp(target);
  const manifest = {
    schemaVersion: RECORDING_SET_VERSION,
    name: set.name,
    description: set.description,
    tensorrt: '10.6.0',
    enginePool: `${set.name}-${DAY}`,
    environment: { gpuName: set.gpuName, driver: '580.159.04', tensorrt: '10.6.0' },
    models: Object.fromEntries(['resnet', 'vit'].map((model) => [model, modelOf(model)])),
    recordings,
  };
  writeFileSync(join(target, 'manifest.json'), `${JSON.stringify(manifest, null, 1)}\n`);
  process.stdout.write(`${set.name}: ${recordings.length} recordings\n`);
}

function modelOf(model: string) {
  const files = [
    ['fp16', `${model}_small.onnx`],
    ['fp8', `${model}_small_fp8.onnx`],
  ].map(([precision = '', file = '']) => [file, { precision, identity: `${file} of the visits of ${DAY}` }]);
  return { inputs: { input: [-1, 3, 224, 224] }, onnx: Object.fromEntries(files) };
}

const [visits] = process.argv.slice(2);
if (visits === undefined || !existsSync(join(visits, 'numbers', 'artefacts'))) {
  process.stderr.write('usage: node scripts/pack-visits.ts FOLDER-OF-VISITS\n');
  process.exit(2);
}
for (const set of SETS) packSet(set, visits);
