import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

import { readBareLog, readRunFolder, type ReadRun } from '../../src/artefacts/read/read-run.ts';
import { importRuns } from '../../src/features/import/import.ts';
import { loadMatrix } from '../../src/matrix/load.ts';
import { parseLayerInfo } from '../../src/trtexec/exports/layer-info.ts';
import { parseProfile } from '../../src/trtexec/exports/profile.ts';
import { parseGpuReport } from '../../src/tools/nvidia-smi/gpu-report.ts';
import { parseGpuSamples } from '../../src/tools/nvidia-smi/gpu-samples.ts';
import { readModel } from '../../src/tools/onnx/onnx-file.ts';
import { readSeriesCsv } from '../../src/features/detect/detect.ts';
import { isRecord } from '../../src/text/unknown-values.ts';
import type { Mutant } from './mutate.ts';
import { testIo } from '../../test/support/io.ts';
import { parseTimes } from '../../test/support/whole-files.ts';

/** One kind of input, with what reads it. */
export interface Target {
  readonly name: string;
  /** Of all inputs. */
  readonly share: number;
  readonly seeds: readonly Buffer[];
  /** @throws what the reader throws; an `Error` named `FuzzFinding` when its answer is wrong */
  readonly read: (mutant: Mutant) => unknown;
}

/** A reader gave an answer that it must not give. */
class FuzzFinding extends Error {
  override readonly name = 'FuzzFinding';
}

const FIXTURES = join(import.meta.dirname, '..', '..', 'test', 'fixtures');
const RUN = join('trtexec', 'gpu-contended', 'vit_base.fp16.b8.graph0');
const SEED_ROWS = 60;
const KEPT_LAYERS = 8;

/**
 * All kinds of input.
 * @param root an empty folder; nothing but `run` and `store` may ever be in it
 */
export function fuzzTargets(root: string): Target[] {
  const log = (name: string): Buffer => fixture('trtexec', 'formats', name, 'stdout.log.br');
  const times = firstRows(fixture(RUN, 'times.json.br'));
  const profile = fixture('trtexec', 'level0', 'profile', 'vit_small.fp16.normal', 'profile.json.br');
  const layers = firstLayers(fixture('trtexec', 'level0', 'profile', 'vit_small.fp16.normal', 'layers.json.br'));
  const logs = [log('default-run'), log('no-args'), log('timing-cache-cold'), fixture(RUN, 'stdout.log.br')];
  const manifest = Buffer.from(JSON.stringify(MANIFEST, null, 1));
  mkdirSync(join(root, 'run'));
  mkdirSync(join(root, 'store'));
  return [
    { name: 'log', share: 0.3, seeds: logs, read: readLog },
    { name: 'times', share: 0.12, seeds: [times], read: ({ bytes }) => parseTimes(bytes) },
    {
      name: 'profile',
      share: 0.1,
      seeds: [profile.subarray(0, 8000), profile],
      read: ({ bytes }) => parseProfile(bytes.toString('utf8')),
    },
    { name: 'layers', share: 0.1, seeds: [layers], read: ({ bytes }) => parseLayerInfo(bytes.toString('utf8')) },
    {
      name: 'xml',
      share: 0.04,
      seeds: [readFileSync(join(FIXTURES, 'nvidia-smi', 'h200-580.xml'))],
      read: ({ bytes }) => parseGpuReport(bytes.toString('utf8')),
    },
    {
      name: 'csv',
      share: 0.17,
      seeds: [readFileSync(join(FIXTURES, 'nvidia-smi', 'query-580.csv'))],
      read: ({ bytes }) => parseGpuSamples(bytes.toString('utf8')),
    },
    {
      name: 'series',
      share: 0.06,
      seeds: [Buffer.from(SERIES)],
      read: ({ bytes }) => readSeriesCsv(bytes.toString('utf8'), 'fuzz'),
    },
    {
      name: 'yaml',
      share: 0.03,
      seeds: ['quickstart.yaml', 'two-inputs.yaml', 'tensorrt-11.yaml'].map((name) =>
        readFileSync(join(import.meta.dirname, '..', '..', 'matrices', name)),
      ),
      read: ({ bytes }) =>
        loadMatrix('fuzz.yaml', {
          cwd: '/',
          readText: (path) => (path === 'fuzz.yaml' ? bytes.toString('utf8') : null),
          hashFiles: () => new Map(),
          readInputs: () => null,
        }),
    },
    {
      name: 'onnx',
      share: 0.06,
      seeds: ['old_ir.onnx', 'control_flow.onnx', 'quantized.onnx', 'external.onnx'].map((name) =>
        readFileSync(join(FIXTURES, 'onnx', name)),
      ),
      read: ({ bytes }) => readModel({ size: bytes.length, read: (at, length) => bytes.subarray(at, at + length) }),
    },
    {
      name: 'run folder',
      share: 0.016,
      seeds: [times],
      read: (mutant) => readFolder(join(root, 'run'), logs[3], times, mutant),
    },
    { name: 'import', share: 0.004, seeds: [manifest], read: (mutant) => importFolder(root, logs[3], mutant) },
  ];
}

const PASSED = '&&&& PASSED';

/** A log without its last line tells of no run that came to its end. */
async function readLog({ bytes, isCut }: Mutant): Promise<void> {
  const runs = await readBareLog('fuzz.log', {}, chunksOf(bytes));
  if (isCut && !bytes.includes(PASSED)) refuseMeasured(runs, 'log');
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

function refuseMeasured(runs: readonly ReadRun[], what: string): void {
  if (runs.some(({ outcome }) => outcome.kind === 'measured')) {
    throw new FuzzFinding(`a ${what} that was cut is measured`);
  }
}

async function readFolder(
  folder: string,
  log: Buffer | undefined,
  whole: Buffer,
  { bytes, isCut }: Mutant,
): Promise<void> {
  const argv = ['trtexec', '--exportTimes=times.json'];
  writeFileSync(join(folder, 'run.json'), JSON.stringify({ schemaVersion: 1, argv, exitCode: 0 }));
  writeFileSync(join(folder, 'stdout.log'), log ?? '');
  writeFileSync(join(folder, 'times.json'), bytes);
  const runs = await readRunFolder(folder, { isForeign: true });
  if (isCut && bytes.length < whole.toString('utf8').trimEnd().length) {
    refuseMeasured(runs, 'file of times');
  }
}

async function importFolder(root: string, log: Buffer | undefined, { bytes }: Mutant): Promise<void> {
  const folder = join(root, 'run');
  rmSync(join(folder, 'times.json'), { force: true });
  writeFileSync(join(folder, 'run.json'), bytes);
  writeFileSync(join(folder, 'stdout.log'), log ?? '');
  const store = join(root, 'store');
  const io = { ...testIo(), cwd: root };
  const failure = await importRuns([folder], { db: join(store, 'bench.sqlite'), json: true }, io)
    .then(() => null)
    .catch((error: unknown) => error);
  refuseStrangers(root, ['run', 'store']);
  refuseStrangers(folder, ['run.json', 'stdout.log']);
  refuseStrangers(store, ['artefacts', 'bench.sqlite', 'bench.sqlite-shm', 'bench.sqlite-wal']);
  const wrong = namesIn(join(store, 'artefacts')).find((name) => !/^(?:[0-9a-f]{32}|\.gitignore)$/.test(name));
  if (wrong !== undefined) throw new FuzzFinding(`wrote artefacts/${wrong}`);
  if (failure !== null) throw failure;
}

function refuseStrangers(folder: string, known: readonly string[]): void {
  const stranger = namesIn(folder).find((name) => !known.includes(name));
  if (stranger !== undefined) throw new FuzzFinding(`wrote ${join(folder, stranger)}`);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function fixture(...path: readonly string[]): Buffer {
  return brotliDecompressSync(readFileSync(join(FIXTURES, ...path)));
}

/** As many rows as a file of times of a slow model has. */
function firstRows(times: Buffer): Buffer {
  const rows: unknown = JSON.parse(times.toString('utf8'));
  const kept = Array.isArray(rows) ? rows.slice(0, SEED_ROWS) : [];
  return Buffer.from(`[\n${kept.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`);
}

/** A small engine of real layers. */
function firstLayers(layers: Buffer): Buffer {
  const parsed: unknown = JSON.parse(layers.toString('utf8'));
  const all: unknown = isRecord(parsed) ? parsed['Layers'] : [];
  const Layers = Array.isArray(all) ? all.slice(0, KEPT_LAYERS) : [];
  return Buffer.from(JSON.stringify({ Layers, Bindings: ['input', 'output'] }, null, 1));
}

const ID = '0123456789abcdef0123456789abcdef';
const MANIFEST = {
  schemaVersion: 1,
  sweepId: ID,
  runId: `f${ID.slice(1)}`,
  role: 'timed',
  repeat: 1,
  cell: { model: 'vit', precision: 'fp16', shapes: { input: [8, 3, 224, 224] } },
  buildId: ID,
  engineKey: ID,
  argv: ['trtexec', '--loadEngine=vit.plan'],
  env: { CUDA_VISIBLE_DEVICES: '0' },
  provenance: 'imported',
  exitCode: 0,
  startedAt: '2026-01-02T03:04:05.000Z',
  wallS: 4.5,
  notes: ['of nobody'],
};
const SERIES = `id,night,gpuComputeMs\n${Array.from({ length: 30 }, (_, i) => `a,${i},${0.5 + (i % 7) / 100}`).join('\n')}\n`;
