import { basename } from 'node:path';

import { type Cell, type CellInputs, type Precision, type Shapes, PRECISIONS } from '../records/cell.ts';
import type { Timer } from '../records/harness.ts';
import { findFlag, flagsIn, flagsOf } from './flags/flag-table.ts';
import { shapesOf, type TrtexecRun } from './log/run-builder.ts';
import { isOneOf } from '../text/unknown-values.ts';

/** The part of a cell that external files state; the rest is derived. */
export interface StatedCell {
  readonly model?: string | undefined;
  readonly precision?: string | undefined;
  readonly shapes?: Shapes | undefined;
  readonly cudaGraph?: boolean | undefined;
  readonly timer?: Timer | undefined;
}

/**
 * Builds the cell from the recorder's statement, trtexec's banner and its flags, without paths.
 * @param argv only if known as a list; @param fileName model of a log that names neither a model nor an engine
 */
export function cellOfRun(stated: StatedCell, argv: readonly string[] | null, log: TrtexecRun, fileName = 'unnamed') {
  const flags = statedFlags(argv, log);
  const { options } = log;
  // Without a marker and a command line, a missing flag is unknown rather than unset.
  const isExcerpt = argv === null && log.commandLine === null;
  const isNew = (log.tensorrtVersion?.major ?? 0) >= 11;
  const asked = (on: string, off: string, byDefault: boolean, ofExcerpt: boolean | null): boolean | null =>
    isExcerpt ? ofExcerpt : !flags.has(off) && (flags.has(on) || byDefault);
  const own = shapesOf(log);
  return {
    model: stated.model ?? modelName(flags, log) ?? fileName,
    ...precisionOf(stated, flags, options.precision, argv !== null),
    shapes: Object.keys(own).length > 0 ? own : (stated.shapes ?? {}),
    cudaGraph: options.cudaGraph ?? asked('--useCudaGraph', '--noCudaGraph', isNew, stated.cudaGraph ?? null),
    dataTransfers: options.dataTransfers ?? asked('--includeDataTransfers', '--noDataTransfers', !isNew, copiesOf(log)),
    streams: options.streams ?? Number(flags.get('--infStreams') ?? flags.get('--streams') ?? 1),
    spinWait: options.spinWait ?? asked('--useSpinWait', '--noSpinWait', isNew, null),
    inputs: inputsOf(flags),
    axisFlags: identityFlags(flags),
  };
}

/** Read from the times of the summary: without transfers trtexec prints zeros for them and no latency. */
function copiesOf({ measurement }: TrtexecRun): boolean | null {
  if (measurement === null) return null;
  const { h2dMs, d2hMs, latencyMs, gpuComputeMs } = measurement;
  if (h2dMs !== null || d2hMs !== null) return true;
  return latencyMs?.median === gpuComputeMs?.median ? false : null;
}

type Flags = ReadonlyMap<string, string>;

function statedFlags(argv: readonly string[] | null, { commandLine }: TrtexecRun): Flags {
  return argv === null ? flagsIn(commandLine) : flagsOf(argv);
}

/** Flags that name a model or an engine, for ONNX, Caffe and UFF. */
const MODEL_FLAGS = ['--onnx', '--loadEngine', '--deploy', '--uff', '--model'];

/** Null if neither a model nor an engine is named. */
export function modelOfLog(argv: readonly string[] | null, log: TrtexecRun): string | null {
  return modelName(statedFlags(argv, log), log);
}

function modelName(flags: Flags, { banner, options }: TrtexecRun): string | null {
  const stated = MODEL_FLAGS.map((flag) => flags.get(flag));
  const printed = [options.onnx, options.loadEngine, banner['Model Options']?.['Prototxt']];
  const path = [...stated, ...printed].find((each) => each !== undefined && each !== null && each !== '') ?? '';
  const name = basename(path).replace(/\.(?:onnx|plan|engine|trt|prototxt|caffemodel|uff)$/, '');
  return name === '' ? null : name;
}

/** Strongest first: `--best` implies the others; fp8 and int4 come with fp16. */
const PRECISION_FLAGS: readonly Precision[] = ['best', 'int4', 'fp8', 'int8', 'bf16', 'fp16'];

/**
 * @param printed the words of the banner, such as `FP32+FP16`
 * @param isWhole true if a missing flag means that it was not passed
 */
function precisionOf(
  stated: StatedCell,
  flags: Flags,
  printed: string | null,
  isWhole: boolean,
): Pick<Cell, 'precision' | 'precisionVia'> {
  const byFlag = PRECISION_FLAGS.find((precision) => flags.has(`--${precision}`));
  const strong = flags.has('--stronglyTyped');
  const loaded = flags.has('--loadEngine');
  if (isOneOf(PRECISIONS, stated.precision)) {
    return { precision: stated.precision, precisionVia: byFlag !== undefined && !strong ? 'flag' : 'onnx' };
  }
  if (byFlag !== undefined && !strong) return { precision: byFlag, precisionVia: 'flag' };
  if (strong || loaded) return { precision: 'unstated', precisionVia: loaded ? 'engine' : 'onnx' };
  const words = (printed ?? '').toLowerCase().split(/[+ ]/);
  const byBanner = PRECISION_FLAGS.find((precision) => words.includes(precision));
  if (byBanner !== undefined) return { precision: byBanner, precisionVia: 'flag' };
  const isBuilt = isWhole && MODEL_FLAGS.some((flag) => flags.has(flag));
  // The default is certain only for a build without a precision flag. A log that prints no precision may have any.
  if (!isBuilt && !words.includes('fp32')) return { precision: 'unstated', precisionVia: 'onnx' };
  return { precision: flags.has('--noTF32') ? 'fp32' : 'tf32', precisionVia: 'onnx' };
}

/** Only the names of the files are available here, not their content. */
function inputsOf(flags: Flags): CellInputs {
  const files = flags.get('--loadInputs');
  if (files === undefined) return { kind: 'random' };
  const named = files.split(',').map((part) => {
    const colon = part.indexOf(':');
    return [part.slice(0, colon), `file:${basename(part.slice(colon + 1))}`];
  });
  return { kind: 'files', sha256ByInput: Object.fromEntries(named) };
}

/**
 * Flags that are not part of the cell's flags: those with a field of their own, and those for duration, outputs and
 * verbosity.
 */
const NOT_IDENTITY = new Set(
  `--shapes --useCudaGraph --includeDataTransfers --useSpinWait --noCudaGraph --infStreams --noDataTransfers
    --streams --noSpinWait --loadInputs --loadEngine --warmUp --duration --iterations --separateProfileRun --device
    --plugins --staticPlugins --dynamicPlugins --setPluginsToSerialize --versionCompatible --vc --markDebug
    --markUnfusedTensorsAsDebugTensors --profilingVerbosity`.split(/\s+/),
);

function identityFlags(flags: Flags): Record<string, string> {
  const kept = [...flags].filter(([flag]) => {
    const phase = findFlag(flag)?.phase;
    return (phase === 'inference' || phase === 'both') && !NOT_IDENTITY.has(flag);
  });
  return Object.fromEntries(kept);
}
