import { existsSync } from 'node:fs';

import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { capturedOutput } from '../layers/index.ts';
import type { Capture } from './capture.ts';
import { captureText } from './capture-text.ts';
import type { ProfileOutput } from './output.ts';
import { openExistingStore, type OpenStore } from '../../store/file/open.ts';
import type { Io } from '../../cli/io.ts';
import { printResult } from '../../cli/print-result.ts';
import { migrationsFolder, storePath } from '../../cli/store-location.ts';
import { told } from '../../cli/with-store.ts';
import { captureOfCell } from './capture-of-cell.ts';
import { captureOfCommand } from './capture-of-command.ts';
import { layerLine } from './layer-line.ts';
import type { ProfileOptions } from './command.ts';

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
