import { findFlag, flagNames, type FlagPhase } from '../../trtexec/flags/flag-table.ts';
import type { MistakeList, Placed, SourcePath } from '../yaml/yaml-source.ts';
import { didYouMean } from '../../text/nearest.ts';
import type { SourcePosition } from '../../errors.ts';
import { namedAxis, NEIGHBOR, POOL_TWICE } from '../../records/axis.ts';
import type { AxisValue, Point } from './axes.ts';

/** Values per option, usually one; `''` for an option without a value. Paths are absolute. */
export type Flags = Readonly<Record<string, Placed<readonly string[]>>>;

/** Options that the plan writes, with the setting to use instead. */
const OWNED_FLAGS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'axes.cudaGraph: on': '--useCudaGraph',
    'axes.cudaGraph: off': '--noCudaGraph',
    'axes.dataTransfers: on': '--includeDataTransfers',
    'axes.dataTransfers: off': '--noDataTransfers',
    'axes.spinWait: on': '--useSpinWait',
    'axes.spinWait: off': '--noSpinWait',
    'axes.streams': '--infStreams --streams',
    'shapes of the model': '--shapes',
    'build.min': '--minShapes',
    'build.opt': '--optShapes',
    'build.max': '--maxShapes',
    'build.profiles': '--profile --useProfile',
    'run.warmUpMs': '--warmUp',
    'run.durationS': '--duration',
    'run.iterations': '--iterations',
    'run.percentiles': '--percentile',
    'inputs of the model': '--loadInputs',
    'onnx of the model': '--onnx',
    'engine of the model': '--loadEngine',
    'nothing: engines are kept by themselves': '--saveEngine',
    'axes.precision': '--fp16 --bf16 --int8 --fp8 --int4 --best',
    'axes.precision: fp32': '--noTF32',
    'precisions: how a precision is reached': '--stronglyTyped',
    'run.exportTimes': '--exportTimes',
    'profile: true': '--exportProfile --dumpProfile --separateProfileRun --exportLayerInfo',
    'axes.profilingVerbosity': '--profilingVerbosity',
    'nothing: builds and runs are apart': '--skipInference --buildOnly',
    'build.timingCache': '--timingCacheFile',
    'build.memoryPoolsMib.workspace': '--workspace',
    'CUDA_VISIBLE_DEVICES in the environment': '--device',
    'build.verbose: true, which writes it into the build log': '--verbose',
  }).flatMap(([setting, flags]) => flags.split(' ').map((flag) => [flag, setting] as const)),
);

const POOL = /(?:tacticSharedMem:\d+K?|\w+:\d+)/.source;
const POOLS = new RegExp(`^(?=workspace|tacticSharedMem|dlaSRAM|dlaLocalDRAM|dlaGlobalDRAM)${POOL}(?:,${POOL})*$`);

type Place = 'build' | 'run' | 'axis';

type FlagValue = string | number | boolean;

/** Options of `build.flags` or `run.flags`; false omits one. */
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

/** Makes paths absolute, because trtexec runs in another folder. */
export function flagText(flag: string, text: string, at: SourcePosition, list: MistakeList): string {
  return findFlag(flag)?.isPath === true ? list.pathFrom(at, text) : text;
}

export function flagProblem(flag: string, value: FlagValue | readonly string[], place: Place): string | null {
  // Guides use this wrong name.
  if (flag === '--blockingSync') return `${flag}: no trtexec has it; state axes.spinWait: off`;
  if (flag === '--help' || flag === '-h') return `${flag} is not a benchmark`;
  const known = findFlag(flag);
  if (known === undefined) {
    const where = place === 'axis' ? 'state it under build.flags or run.flags, and ' : '';
    const advice = `; if yours is newer, ${where}write allowUnknownFlags: true`;
    return `no trtexec from 8.4 to 11.1 has ${flag}${didYouMean(flag, flagNames()) || advice}`;
  }
  const owner = OWNED_FLAGS.get(flag);
  if (owner !== undefined) return `${flag} is written by the plan: state ${owner}`;
  if (known.value === 'none' && typeof value !== 'boolean') {
    return `${flag} takes no value: write true or false`;
  }
  if (Array.isArray(value) && !known.isRepeatable) return `${flag} can be given only once`;
  if (known.value === 'needed' && value === true) return `${flag} needs a value`;
  if (flag === '--memPoolSize' && typeof value === 'string' && (POOL_TWICE.test(value) || !POOLS.test(value))) {
    return '--memPoolSize: write each pool once, as plain MiB, such as workspace:4096; versions read suffixes differently';
  }
  return phaseProblem(flag, known.phase, place);
}

/** Options that change what is measured, so that they must be on an axis. */
const CHANGES_NUMBERS =
  '--exposeDMA --idleTime --sleepTime --threads --useDLACore --useManagedMemory --useRuntime'.split(' ');

function phaseProblem(flag: string, phase: FlagPhase, place: Place): string | null {
  if (place !== 'axis' && CHANGES_NUMBERS.includes(flag)) {
    return `${flag} changes what is measured: put it on an axis (axes: {${flag}: …}), so that its cells are others`;
  }
  if (place === 'build' && (phase === 'inference' || phase === 'report')) {
    return `${flag} acts when an engine runs: it belongs under run.flags`;
  }
  return place === 'run' && phase === 'build'
    ? `${flag} has no effect on a built engine: it belongs under build.flags`
    : null;
}

export function actsInBuild(flag: string): boolean {
  const phase = findFlag(flag)?.phase;
  return phase === 'build' || phase === 'both';
}

/** Also true for an unknown option, which is used where it was stated. */
export function actsInRun(flag: string): boolean {
  return findFlag(flag)?.phase !== 'build';
}

/** trtexec's names of settings that may be on an axis. */
const METHOD_FLAGS: Readonly<Record<string, string>> = {
  warmUpMs: '--warmUp',
  durationS: '--duration',
  iterations: '--iterations',
};

/** Options on axes, which are part of the cell. An option that is off equals no option. */
export function axisFlags(point: Point): Record<string, string> {
  return Object.fromEntries([...point].flatMap(([name, { value }]) => Object.entries(spelled(name, value))));
}

/** Flags of a point, without settings of `run:` and the neighbor; `''` for a flag without a value. */
export function pointFlags(point: Point) {
  return [...point].flatMap(([name, { at, value }]) =>
    name in METHOD_FLAGS || name === NEIGHBOR
      ? []
      : Object.entries(spelled(name, value)).map(([flag, inner]) => ({ flag, value: inner, at })),
  );
}

function spelled(name: string, value: AxisValue): Readonly<Record<string, string>> {
  if (value === false || typeof value === 'object') return {};
  const text = value === true ? '' : String(value);
  const flag = name.startsWith('-') ? name : METHOD_FLAGS[name];
  return flag === undefined ? (namedAxis(name)?.spell(text) ?? {}) : { [flag]: text };
}

export function isOnDla(point: Point): boolean {
  const device = point.get('device')?.value;
  const core = point.get('--useDLACore')?.value ?? false;
  return core !== false || (typeof device === 'string' && device !== 'gpu');
}
