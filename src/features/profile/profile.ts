import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';

import { type Io, printResult } from '../../cli/io.ts';
import { migrationsFolder, storePath } from '../../cli/store-location.ts';
import { told } from '../../cli/with-store.ts';
import { EnvironmentLackingError, UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { layerFactsOf } from '../../layers/layer-facts.ts';
import { overlay } from '../../run/start.ts';
import { profiledCell } from '../../selection/profiled-engine.ts';
import { openExistingStore, type OpenStore } from '../../store/file/open.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { didYouMean } from '../../text/nearest.ts';
import { printable } from '../../text/printable.ts';
import { parseTensorrtVersion } from '../../text/version.ts';
import { layerNcuArgs } from '../../tools/ncu/ncu-args.ts';
import { askNsys } from '../../tools/nsys/nsys-dialect.ts';
import { capturedFiles, refuseOverwrite, runNsys } from '../../tools/nsys/run-nsys.ts';
import { capturedOutput, kernelsIfAny } from '../layers/index.ts';
import { CaptureError } from './capture-cell.ts';
import { captureOfCell, NO_NSYS } from './capture-of-cell.ts';
import { captureText } from './capture-text.ts';
import type { Capture } from './capture.ts';
import type { ProfileOptions } from './command.ts';
import type { ProfileOutput } from './output.ts';
import { presetSteps } from './preset.ts';
import { fileName } from './steps.ts';
import { captureTarget, type CaptureTarget, engineInCache } from './target.ts';

/** `bench profile CELL --nsys`: a capture of Nsight Systems, its kernels by layer. */
export async function profile(words: readonly string[], options: ProfileOptions, io: Io): Promise<ExitCode> {
  refuseMixed(words, options);
  const made = await capture(words, options, io);
  printResult(io, options, outputOf(made), (output, look) => captureText(output, made.done?.kernels ?? null, look));
  return EXIT_CODES.fine;
}

function outputOf({ cell, done, engine, notes, nsysVersion, steps }: Capture): ProfileOutput {
  return {
    schemaVersion: 1,
    dryRun: done === null,
    cell: cell?.key ?? null,
    label: cell?.label ?? null,
    tensorrt: cell?.tensorrt ?? null,
    nsysVersion,
    engine,
    steps,
    notes,
    files: done?.files ?? [],
    runId: done?.runId ?? null,
    kernels: done === null || done.kernels === null ? null : capturedOutput(done.kernels),
  };
}

async function capture(words: readonly string[], options: ProfileOptions, io: Io): Promise<Capture> {
  if (options.preset !== undefined) return captureOfCommand(words, options, io);
  const store = storeOf(options, io);
  try {
    return options.ncu === undefined
      ? await captureOfCell(words[0], store, options, io)
      : await layerLine(words[0], options.ncu, store, options, io);
  } finally {
    store?.close();
  }
}

/** A matrix needs no store to show what would be done. */
function storeOf(options: ProfileOptions, io: Io): OpenStore | null {
  const path = storePath(options.db, io);
  if (!existsSync(path) && options.matrix !== undefined) return null;
  return told(openExistingStore(path, migrationsFolder()), io);
}

function refuseMixed(words: readonly string[], options: ProfileOptions): void {
  const { dla, gpuMetrics, matrix, ncu, nsys, preset, tensorrt, window } = options;
  if (nsys !== true && ncu === undefined) {
    throw new UsageError(
      'with which profiler? --nsys captures kernels, gaps and copies, --ncu shows the line for one layer; layer times take none: `bench run MATRIX --profile`, `bench layers CELL`',
    );
  }
  if (nsys === true && ncu !== undefined) throw new UsageError('--nsys and --ncu exclude each other');
  if (preset === undefined) {
    if (window !== undefined) throw new UsageError('--window goes with --preset trtllm');
    if (words.length > 1) {
      throw new UsageError('one cell is captured at a time; a command behind -- goes with --preset trtllm');
    }
  } else if (ncu !== undefined || matrix !== undefined || dla === true || gpuMetrics === true) {
    throw new UsageError('--preset captures a command: it takes --window, --output, --dry-run alone');
  }
  if (tensorrt !== undefined && options.dryRun !== true && ncu === undefined) {
    throw new UsageError('--tensorrt is for --dry-run: a capture needs trtexec');
  }
  if (tensorrt !== undefined && matrix === undefined) {
    throw new UsageError('--tensorrt goes with --matrix: a stored cell has the version of its sweep');
  }
}

const TOP = 20;

/** Captures a window of a harness that is no trtexec, or shows how it would be. */
async function captureOfCommand(words: readonly string[], options: ProfileOptions, io: Io): Promise<Capture> {
  const steps = presetSteps(words, options);
  const found = await askNsys(io.env);
  const base = { cell: null, nsysVersion: found?.version ?? null, engine: null, steps, notes: [] };
  if (options.dryRun === true) return { ...base, done: null };
  if (found === null) throw new EnvironmentLackingError(NO_NSYS);
  const output = options.output ?? 'trace';
  refuseOverwrite(io.cwd, output, options.force === true);
  const { report, sqlite } = capturedFiles(io.cwd, output);
  for (const { argv, kind, variables } of steps) {
    const context = { spawn: io.spawn, env: { ...io.env, ...overlay(variables) }, cwd: io.cwd, signal: io.signal };
    const failure = await runNsys(context, argv.slice(1), kind === 'export' ? sqlite : report);
    if (failure !== null) {
      throw new CaptureError(`nsys ${kind} gave nothing: ${failure.exit}`, failure.lastWords);
    }
  }
  const { kernels, notes } = kernelsIfAny(sqlite, { engine: null, label: null, top: TOP });
  const files = await Promise.all(
    [report, sqlite].map(async (path) => ({ path, bytes: (await stat(path)).size, attached: false })),
  );
  return { ...base, notes, done: { files, runId: null, kernels } };
}

/** The line of Nsight Compute for one layer. It is only shown: replaying kernels takes long, and root on most machines. */
async function layerLine(
  name: string | undefined,
  layer: string | true,
  store: OpenStore | null,
  options: ProfileOptions,
  io: Io,
): Promise<Capture> {
  const target = await captureTarget(name, store, options, io);
  const cached = await engineInCache(target, store);
  const engine = target.build.enginePath ?? cached?.path ?? null;
  const model = fileName(target.cell.model);
  const chosen = layer === true ? hottest(target, store) : known(target, store, layer);
  const trtexec =
    options.trtexec ?? target.prepared?.program?.shownAs ?? target.measured?.stored.program.trtexec ?? 'trtexec';
  const is11 = (parseTensorrtVersion(target.tensorrt)?.major ?? 0) >= 11;
  const argv = layerNcuArgs(
    chosen,
    options.output ?? `${model}_layer`,
    is11,
    [trtexec],
    target.run.args,
    engine ?? `${model}.plan`,
  );
  return {
    cell: { key: target.cell.key, label: cellLabel(target.cell), tensorrt: target.tensorrt },
    nsysVersion: null,
    engine,
    steps: [{ kind: 'capture', variables: target.run.env, argv: ['ncu', ...argv] }],
    notes: [
      `Nsight Compute replays the kernels of ${chosen}; bench does not run it`,
      ...(target.cell.cudaGraph ? ['without a CUDA graph here: its launch is in the range of no layer'] : []),
    ],
    done: null,
  };
}

function layersOf({ cell }: CaptureTarget, store: OpenStore | null) {
  const engine = store === null ? null : profiledCell(store.db, cell, null, '');
  return engine === null ? [] : layerFactsOf(engine.layers);
}

function hottest(target: CaptureTarget, store: OpenStore | null): string {
  const [first] = layersOf(target, store).toSorted((a, b) => b.averageMs - a.averageMs);
  if (first !== undefined) return first.name;
  throw new UsageError(
    `no layers of ${printable(cellLabel(target.cell))} are known: \`bench run --profile\` takes them, or name one with --ncu LAYER`,
  );
}

/** A name that no profile has is taken as it is: nothing may be known of the layers. */
function known(target: CaptureTarget, store: OpenStore | null, layer: string): string {
  const names = layersOf(target, store).map(({ name }) => name);
  if (names.length === 0 || names.includes(layer)) return layer;
  const holding = names.filter((name) => name.includes(layer));
  const [only] = holding;
  if (only !== undefined && holding.length === 1) return only;
  throw new UsageError(
    holding.length > 1
      ? `${printable(layer)} is in the names of ${holding.length} layers: write more of it`
      : `no layer ${printable(layer)}${printable(didYouMean(layer, names))}; \`bench layers\` lists them`,
  );
}
