import { existsSync } from 'node:fs';

import { type Io, printResult } from '../../cli/io.ts';
import { storePath } from '../../cli/store-location.ts';
import { withStoreToWrite } from '../../cli/with-store.ts';
import { ensure, EnvironmentLackingError, UsageError, type ExitCode } from '../../errors.ts';
import { type KeyedCell, cellLabel } from '../../records/cell.ts';
import { layerFactsOf } from '../../layers/layer-facts.ts';
import { profiledCell } from '../../selection/profiled-engine.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { type Look, wrapHanging } from '../../terminal/look.ts';
import { formatBytes } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { envText, shellLine } from '../../text/shell-quote.ts';
import { parseTensorrtVersion } from '../../text/version.ts';
import { askNsys, captureWith, fileName, refuseOverwrite, capturedRun, ownArgs } from '../../tools/nsys/nsys-args.ts';
import { kernelsText, selectLayers } from '../layers/index.ts';
import { NO_NSYS, captureOfCell, readCapture } from './capture-of-cell.ts';
import type { ProfileOptions } from './command.ts';
import { type CaptureTarget, type ProfileOutput, captureTarget, notCaptured, nsysSteps, withBuild } from './target.ts';

export async function profile(words: readonly string[], options: ProfileOptions, io: Io): Promise<ExitCode> {
  refuseMixed(words, options);
  return printResult(io, options, await capture(words, options, io), captureText);
}

async function capture(words: readonly string[], options: ProfileOptions, io: Io): Promise<ProfileOutput> {
  if (options.preset !== undefined) return captureOfCommand(words, options, io);
  const work = async (store: OpenStore | null): Promise<ProfileOutput> => {
    const target = await captureTarget(words[0], store, options, io);
    if (options.ncu === undefined) return captureOfCell(target, options, io);
    return layerLine(target, options.ncu, options.output);
  };
  // With a matrix, `--dry-run` needs no store.
  const isAlone = options.matrix !== undefined && !existsSync(storePath(options.db, io));
  return isAlone ? work(null) : withStoreToWrite(options, io, work);
}

function refuseMixed(words: readonly string[], options: ProfileOptions): void {
  const { dryRun, matrix, ncu, nsys, preset, tensorrt, window } = options;
  ensure(
    nsys === true || ncu !== undefined,
    'which profiler? --nsys captures kernels, calls and copies, --ncu prints the command for one layer; layer times need neither: `bench run MATRIX --profile`, `bench layers CELL`',
  );
  if (preset === undefined && (window !== undefined || words.length > 1)) {
    throw new UsageError('name one cell; --window and a command after -- need --preset trtllm');
  }
  const isShown = dryRun === true || ncu !== undefined;
  if (tensorrt !== undefined && !(isShown && matrix !== undefined)) {
    throw new UsageError('--tensorrt is for --matrix with --dry-run');
  }
}

/**
 * The Nsight Compute command for one layer. It is only printed, because replaying kernels takes long and mostly needs
 * root.
 */
function layerLine(target: CaptureTarget, layer: string | true, output?: string): ProfileOutput {
  const { cell, engine, plan, run, store, trtexec } = target;
  const model = fileName(cell.model);
  const chosen = chosenLayer(cell, store, layer);
  const is11 = (parseTensorrtVersion(plan.tensorrt)?.major ?? 0) >= 11;
  const argv = layerNcuArgs(chosen, output ?? `${model}_layer`, is11, [trtexec], run.args, engine ?? `${model}.plan`);
  return {
    ...notCaptured(target),
    steps: withBuild(target, [{ kind: 'capture', variables: run.env, argv: ['ncu', ...argv] }]),
    notes: [`Nsight Compute replays the kernels of ${chosen}; bench does not run it`],
  };
}

/** The slowest of the layers that the name selects, or of all layers. If no layers are known, the name itself. */
function chosenLayer(cell: KeyedCell, store: OpenStore | null, name: string | true): string {
  const engine = store === null ? null : profiledCell(store.db, cell, null, '');
  const layers = layerFactsOf(engine?.layers ?? []).toSorted((a, b) => b.averageMs - a.averageMs);
  if (layers.length === 0 && name !== true) return name;
  const [first] = name === true ? layers : selectLayers(layers, name, false);
  const chosen = layers.find((layer) => layer.name === name) ?? first;
  if (chosen !== undefined) return chosen.name;
  throw new UsageError(
    name === true
      ? `no layers of ${cellLabel(cell)} are known: \`bench run --profile\` records them, or name one with --ncu LAYER`
      : `no layer ${name}: \`bench layers\` lists them`,
  );
}

/** Captures a time window of another harness, or prints the steps. */
async function captureOfCommand(words: readonly string[], options: ProfileOptions, io: Io): Promise<ProfileOutput> {
  const { force, maxSize, output = 'trace', window = '' } = options;
  const variables = trtllmVariables(window);
  // The window limits the capture of a server.
  if (variables === null || words.length === 0) {
    throw new UsageError(
      'write a window, and the command after --: --preset trtllm --window 100-150 -- trtllm-bench ...',
    );
  }
  const args = trtllmArgs(output, words);
  const found = await askNsys(io.env);
  const steps = nsysSteps(args, variables, output);
  const base = { ...notCaptured(), nsysVersion: found?.version ?? null, steps };
  if (options.dryRun === true) return base;
  if (found === null) throw new EnvironmentLackingError(NO_NSYS);
  refuseOverwrite(io.cwd, { output, force });
  await captureWith({ ...io, env: { ...io.env, ...variables } }, args, output);
  return { ...base, dryRun: false, ...(await readCapture(output, null, maxSize, io, async () => false)) };
}

const TOP = 20;

export function captureText(report: ProfileOutput, look: Look): string[] {
  const { cell, dryRun, engine, files, kernels, label, notes, runId, steps, tensorrt } = report;
  const { columns, style } = look;
  const shown = notes.flatMap((note) => wrapHanging(`note: ${printable(note)}`, columns, 2).map(style.warn));
  if (!dryRun) {
    const again = cell === null ? '' : `; see it again with \`bench layers ${cell.slice(0, 8)} --kernels\``;
    const isWhole = runId !== null && files.every(({ attached }) => attached);
    return [
      ...(kernels === null
        ? []
        : [...kernelsText({ ...kernels, label, file: files.at(-1)?.path ?? '', notes: [] }, TOP, look), '']),
      ...shown,
      ...files.map(
        ({ path, bytes, attached }) => `${printable(path)} (${formatBytes(bytes)})${attached ? '' : ', not attached'}`,
      ),
      ...(isWhole ? [style.dim(`attached to run ${runId.slice(0, 8)}${again}`)] : []),
    ];
  }
  const title = label === null ? 'capture of a command' : `capture of ${label}, TensorRT ${tensorrt}`;
  return [
    ...wrapHanging(printable(title), columns, 2).map(style.strong),
    ...shown,
    ...(engine === null ? [] : [`engine: found, ${printable(engine)}`]),
    // On one line, so that it can be copied.
    ...steps.flatMap(({ argv, kind, variables }) => [
      '',
      style.accent(kind),
      `${envText(variables)}${shellLine(argv)}`,
    ]),
  ];
}

/** Trace options for a Python harness, from TensorRT-LLM's page on performance analysis. */
const TRTLLM_TRACE = 'cuda,nvtx,python-gil';

/**
 * Variables for the environment of nsys, which passes them on.
 * @param window a range of iterations, such as `100-150`
 * @returns null if it is none
 */
export function trtllmVariables(window: string): Record<string, string> | null {
  const [range, from, to] = /^(\d{1,9})-(\d{1,9})$/.exec(window.trim()) ?? [];
  return range === undefined || Number(from) >= Number(to) ? null : { TLLM_PROFILE_START_STOP: range };
}

/**
 * The arguments of `nsys` for a harness of TensorRT-LLM. They limit the capture to the window, and record the garbage
 * collector and the interpreter lock.
 */
export function trtllmArgs(output: string, command: readonly string[]): string[] {
  const variables = [
    'TLLM_PROFILE_RECORD_GC=1',
    'TLLM_LLMAPI_ENABLE_NVTX=1',
    `TLLM_TORCH_PROFILE_TRACE=${output}.json`,
  ];
  const traced = `-f true -t ${TRTLLM_TRACE} -c cudaProfilerApi --cuda-graph-trace node`.split(' ');
  return ['profile', '-o', output, ...traced, '-e', variables.join(','), '--trace-fork-before-exec=true', ...command];
}

/**
 * Special characters of Nsight Compute in the name of a range. Source: its command line guide, "NVTX Filtering". ncu
 * 2025.3.1 on an H200 found ranges with such names only in this form; a backslash is literal there.
 */
const QUANTIFIERS = /[@,[\]/*+]/g;

/**
 * Arguments of `ncu` for the kernels of one layer. They turn the CUDA graph off, because its launch is in no range of a
 * layer.
 */
export function layerNcuArgs(
  layer: string,
  output: string,
  is11: boolean,
  program: readonly string[],
  runArgs: readonly string[],
  engine: string,
): string[] {
  const own = ownArgs(runArgs).filter((arg) => arg !== '--useCudaGraph');
  const range = `TensorRT@${layer.replace(QUANTIFIERS, String.raw`\$&`)}/`;
  const options = ['--nvtx', '--nvtx-include', range, '--profile-from-start', 'off', '--set', 'full', '-o', output];
  return [
    ...options,
    ...program,
    '--profilingVerbosity=detailed',
    ...capturedRun(engine, 1),
    ...own,
    ...(is11 && !own.includes('--noCudaGraph') ? ['--noCudaGraph'] : []),
  ];
}
