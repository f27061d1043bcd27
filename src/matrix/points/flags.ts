import { findFlag, flagNames, type FlagPhase } from '../../trtexec/flags/flag-table.ts';
import type { Flags, Placed } from '../matrix.ts';
import type { MistakeList, SourcePath } from '../yaml/source-node.ts';
import { didYouMean } from '../../text/nearest.ts';
import type { SourcePosition } from '../../errors.ts';
import { namedAxis } from '../../records/axis.ts';
import type { AxisValue, Point } from './axes.ts';

/** Flags written by the plan, with the setting to use instead. */
const OWNED_FLAGS: Readonly<Record<string, string>> = {
  '--useCudaGraph': 'axes.cudaGraph: on',
  '--noCudaGraph': 'axes.cudaGraph: off',
  '--includeDataTransfers': 'axes.dataTransfers: on',
  '--noDataTransfers': 'axes.dataTransfers: off',
  '--useSpinWait': 'axes.spinWait: on',
  '--noSpinWait': 'axes.spinWait: off',
  '--infStreams': 'axes.streams',
  '--streams': 'axes.streams',
  '--shapes': 'shapes of the model',
  '--minShapes': 'build.min',
  '--optShapes': 'build.opt',
  '--maxShapes': 'build.max',
  '--warmUp': 'run.warmUpMs',
  '--duration': 'run.durationS',
  '--iterations': 'run.iterations',
  '--percentile': 'run.percentiles',
  '--loadInputs': 'inputs of the model',
  '--onnx': 'onnx of the model',
  '--loadEngine': 'engine of the model',
  '--saveEngine': 'nothing: engines are kept by themselves',
  '--fp16': 'axes.precision',
  '--bf16': 'axes.precision',
  '--int8': 'axes.precision',
  '--fp8': 'axes.precision',
  '--int4': 'axes.precision',
  '--best': 'axes.precision',
  '--noTF32': 'axes.precision: fp32',
  '--stronglyTyped': 'precisions: how a precision is reached',
  '--exportTimes': 'run.exportTimes',
  '--exportProfile': 'profile: true',
  '--dumpProfile': 'profile: true',
  '--separateProfileRun': 'profile: true',
  '--exportLayerInfo': 'profile: true',
  '--profilingVerbosity': 'axes.profilingVerbosity',
  '--skipInference': 'nothing: builds and runs are apart',
  '--buildOnly': 'nothing: builds and runs are apart',
  '--timingCacheFile': 'build.timingCache',
  '--workspace': 'build.memoryPoolsMib.workspace',
  '--device': 'CUDA_VISIBLE_DEVICES in the environment',
  '--verbose': 'build.verbose: true, which has it in the log of the build',
};

/** Names that guides use for other settings. */
const MISTAKEN_FLAGS: Readonly<Record<string, string>> = {
  '--blockingSync': 'no trtexec has it; state axes.spinWait: off',
};

const POOL = /(?:tacticSharedMem:\d+K?|\w+:\d+)/.source;
const POOLS = new RegExp(`^(?=workspace|tacticSharedMem|dlaSRAM|dlaLocalDRAM|dlaGlobalDRAM)${POOL}(?:,${POOL})*$`);

type Place = 'build' | 'run' | 'axis';

type FlagValue = string | number | boolean;

/** Flags of `build.flags` or `run.flags`; false omits a flag. */
export function readFlags(
  stated: Readonly<Record<string, FlagValue | readonly string[]>> | undefined,
  path: SourcePath,
  place: 'build' | 'run',
  allowsUnknown: boolean,
  list: MistakeList,
): Flags {
  const flags: Record<string, Placed<readonly string[]>> = {};
  for (const [flag, value] of Object.entries(stated ?? {})) {
    const source = [...path, flag];
    const problem = allowsUnknown && findFlag(flag) === undefined ? null : flagProblem(flag, value, place);
    if (problem !== null) list.addAtKey(source, problem);
    else if (value !== false) {
      const at = list.keyAt(source);
      const texts = [value].flat().map((text) => (text === true ? '' : String(text)));
      flags[flag] = { value: texts.map((text) => flagText(flag, text, at, list)), at };
    }
  }
  return flags;
}

/** Paths are made absolute: trtexec runs elsewhere. */
export function flagText(flag: string, text: string, at: SourcePosition, list: MistakeList): string {
  return findFlag(flag)?.isPath === true ? list.pathFrom(at, text) : text;
}

export function flagProblem(flag: string, value: FlagValue | readonly string[], place: Place): string | null {
  const mistaken = MISTAKEN_FLAGS[flag];
  if (mistaken !== undefined) return `${flag}: ${mistaken}`;
  const known = findFlag(flag);
  if (known === undefined) {
    const advice = place === 'axis' ? '' : '; if yours is newer, write allowUnknownFlags: true';
    return `no trtexec from 8.4 to 11.1 has ${flag}${didYouMean(flag, flagNames()) || advice}`;
  }
  const owner = OWNED_FLAGS[flag];
  if (owner !== undefined) return `${flag} is written by the plan: state ${owner}`;
  if (flag === '--help' || flag === '-h') return `${flag} is no benchmark`;
  if (known.value === 'none' && typeof value !== 'boolean') {
    return `${flag} takes no value: write true or false`;
  }
  if (Array.isArray(value) && !known.isRepeatable) return `${flag} can be given only once`;
  if (known.value === 'needed' && value === true) return `${flag} needs a value`;
  if (flag === '--memPoolSize' && typeof value === 'string' && !POOLS.test(value)) {
    return '--memPoolSize: write pools as plain MiB, such as workspace:4096; versions read suffixes differently';
  }
  return phaseProblem(flag, known.phase, place);
}

/** Run flags that change the numbers of an engine: they must be on an axis. */
const CHANGES_NUMBERS: ReadonlySet<string> = new Set([
  '--exposeDMA',
  '--idleTime',
  '--sleepTime',
  '--threads',
  '--useManagedMemory',
]);

function phaseProblem(flag: string, phase: FlagPhase, place: Place): string | null {
  if (place !== 'axis' && CHANGES_NUMBERS.has(flag)) {
    return `${flag} changes what is measured: put it on an axis (axes: {${flag}: …}), so that its cells are others`;
  }
  if (place === 'build' && (phase === 'inference' || phase === 'report')) {
    return `${flag} acts when an engine runs: it belongs under run.flags`;
  }
  if (place === 'run' && phase === 'build') {
    return `${flag} has no effect on a built engine: it belongs under build.flags`;
  }
  return null;
}

export function actsInBuild(flag: string): boolean {
  const phase = findFlag(flag)?.phase;
  return phase === 'build' || phase === 'both';
}

/** Also true for an unknown flag: it is used where it was stated. */
export function actsInRun(flag: string): boolean {
  return findFlag(flag)?.phase !== 'build';
}

interface PointFlag {
  readonly flag: string;
  /** `''` for a flag without a value. */
  readonly value: string;
  readonly at: SourcePosition;
}

/** trtexec's names of settings that may be on an axis. */
const METHOD_FLAGS: Readonly<Record<string, string>> = {
  warmUpMs: '--warmUp',
  durationS: '--duration',
  iterations: '--iterations',
};

/** What is on an axis is part of the cell; a flag that is off is the same as no flag. */
export function axisFlags(point: Point): Record<string, string> {
  const flags: Record<string, string> = {};
  for (const [name, placed] of point) {
    const method = METHOD_FLAGS[name];
    const text = textOf(placed.value);
    if (method !== undefined && text !== null) flags[method] = text;
    for (const { flag, value } of flagsOfAxis(name, placed)) flags[flag] = value;
  }
  return flags;
}

export function pointFlags(point: Point): PointFlag[] {
  return [...point].flatMap(([name, placed]) => flagsOfAxis(name, placed));
}

function flagsOfAxis(name: string, { at, value }: Placed<AxisValue>): PointFlag[] {
  const text = textOf(value);
  if (text === null) return [];
  if (name.startsWith('-')) return [{ flag: name, value: text, at }];
  const spelled = namedAxis(name)?.spell(text) ?? {};
  return Object.entries(spelled).map(([flag, inner]) => ({ flag, value: inner, at }));
}

function textOf(value: AxisValue | undefined): string | null {
  switch (value?.kind) {
    case 'switch':
      return value.on ? '' : null;
    case 'number':
      return String(value.number);
    case 'word':
      return value.word;
    default:
      return null;
  }
}

export function isOnDla(point: Point): boolean {
  const device = point.get('device')?.value;
  return device?.kind === 'word' && device.word !== 'gpu';
}
