import { existsSync } from 'node:fs';

import { type Io, printResult } from '../../cli/io.ts';
import { migrationsFolder, storePath } from '../../cli/store-location.ts';
import { warnIfMigrated } from '../../cli/with-store.ts';
import { UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { layerFactsOf } from '../../layers/layer-facts.ts';
import { profiledCell } from '../../selection/profiled-engine.ts';
import { openExistingStore, type OpenStore } from '../../store/file/open.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { didYouMean } from '../../text/nearest.ts';
import { printable } from '../../text/printable.ts';
import { parseTensorrtVersion } from '../../text/version.ts';
import { layerNcuArgs } from '../../tools/ncu/ncu-args.ts';
import { captureOfCell, trtexecShown } from './capture-of-cell.ts';
import { captureOfCommand } from './capture-of-command.ts';
import { captureText } from './capture-text.ts';
import type { ProfileOptions } from './command.ts';
import { type Capture, NOT_CAPTURED, type ProfileOutput } from './output.ts';
import { fileName, captureTarget, type CaptureTarget, engineInCache } from './target.ts';

export async function profile(words: readonly string[], options: ProfileOptions, io: Io): Promise<ExitCode> {
  refuseMixed(words, options);
  const { kernels, output } = await capture(words, options, io);
  return printResult(io, options, output, (_, look) => captureText(output, kernels, look));
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

/** A matrix needs no store for `--dry-run`. */
function storeOf(options: ProfileOptions, io: Io): OpenStore | null {
  const path = storePath(options.db, io);
  if (!existsSync(path) && options.matrix !== undefined) return null;
  return warnIfMigrated(openExistingStore(path, migrationsFolder()), io);
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

/** Nsight Compute for one layer. Only printed: replaying kernels takes long, and mostly needs root. */
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
  const is11 = (parseTensorrtVersion(target.tensorrt)?.major ?? 0) >= 11;
  const argv = layerNcuArgs(
    chosen,
    options.output ?? `${model}_layer`,
    is11,
    [trtexecShown(target, options)],
    target.run.args,
    engine ?? `${model}.plan`,
  );
  const output: ProfileOutput = {
    ...NOT_CAPTURED,
    cell: target.cell.key,
    label: cellLabel(target.cell),
    tensorrt: target.tensorrt,
    nsysVersion: null,
    engine,
    steps: [{ kind: 'capture', variables: target.run.env, argv: ['ncu', ...argv] }],
    notes: [
      `Nsight Compute replays the kernels of ${chosen}; bench does not run it`,
      ...(target.cell.cudaGraph ? ['without a CUDA graph here: its launch is in the range of no layer'] : []),
    ],
  };
  return { output, kernels: null };
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

/** An unknown name is used as it is: the layers may be unknown. */
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
