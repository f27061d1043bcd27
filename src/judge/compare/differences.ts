import type { BuildRecord } from '../../records/run.ts';
import { lockOf } from '../../machine/requests.ts';
import type { Environment } from '../../records/environment.ts';

export type ComparedBuild = Pick<BuildRecord, 'modelSha256' | 'flags'>;

const NAMED_FIELDS = [
  ['clocks', 'clockPolicy', ''],
  ['TensorRT', 'tensorrt', ''],
  ['TensorRT library', 'tensorrtLibrary', ''],
  ['driver', 'driver', ''],
  ['CUDA', 'cuda', ''],
  ['host', 'host', ''],
  ['GPU', 'gpuName', ''],
  ['GPU', 'gpuUuid', ''],
  ['highest SM clock', 'maxSmClockMhz', ' MHz'],
  ['power limit', 'powerLimitW', ' W'],
  ['ECC', 'ecc', ''],
  ['MIG', 'mig', ''],
  ['persistence mode', 'persistence', ''],
  ['compute mode', 'computeMode', ''],
  ['driver model', 'driverModel', ''],
  ['VBIOS', 'vbios', ''],
  ['PCIe', 'pcieMax', ''],
  ['CPU', 'cpu', ''],
  ['CPU governor', 'cpuGovernor', ''],
  ['NUMA node of the GPU', 'numaNode', ''],
  ['OS', 'os', ''],
  ['container', 'container', ''],
] as const satisfies readonly (readonly [string, keyof Environment, string])[];

/** What of the machine is known to be another, in words: `driver 580.1 → 580.2`. */
export function environmentDifferences(before: Environment, after: Environment): string[] {
  return NAMED_FIELDS.flatMap(([name, field, unit]) =>
    before[field] !== after[field] && before[field] !== null && after[field] !== null
      ? [`${name} ${before[field]}${unit} → ${after[field]}${unit}`]
      : [],
  );
}

/** Clocks that are locked here and not there, or at another frequency; null when there is no such difference. */
function lockDifference(before: Environment, after: Environment): string | null {
  return lockOf(before.clockPolicy) === lockOf(after.clockPolicy)
    ? null
    : `clocks ${before.clockPolicy ?? 'unknown'} → ${after.clockPolicy ?? 'unknown'}`;
}

/** What of the engine's making is another. */
export function buildDifferences(a: ComparedBuild | null, b: ComparedBuild | null): string[] {
  if (a === null || b === null) return [];
  const reasons: string[] = [];
  if (a.modelSha256 !== null && b.modelSha256 !== null && a.modelSha256 !== b.modelSha256) {
    reasons.push('the model changed');
  }
  const gone = a.flags.filter((flag) => !b.flags.includes(flag));
  const come = b.flags.filter((flag) => !a.flags.includes(flag));
  if (gone.length + come.length > 0) {
    reasons.push(`build: ${gone.join(' ') || 'no flag'} → ${come.join(' ') || 'no flag'}`);
  }
  return reasons;
}

/** Differences that make two sides incomparable, unless they are asked for by name. */
export interface Across {
  readonly provenance: boolean;
  readonly gpu: boolean;
  readonly tensorrt: boolean;
  readonly clocks: boolean;
}

interface MadeOn {
  readonly environment: Environment | null;
  readonly build: ComparedBuild | null;
}

interface Differences {
  /** Of the machine: hardware, clocks, driver and libraries. */
  readonly machine: readonly string[];
  /** Of the engine's making. */
  readonly build: readonly string[];
  readonly problem: string | null;
  readonly overridden: readonly string[];
}

/** What differs between two sides of a cell, and whether that keeps them from being compared. */
export function differencesOf(a: MadeOn, b: MadeOn, across: Across): Differences {
  const [before, after] = [a.environment, b.environment];
  const found = before === null || after === null ? [] : obstacles(before, after);
  const open = found.find(({ name }) => !across[name]);
  const overridden = found.filter(({ name }) => across[name]).map(({ text }) => text);
  const others = before === null || after === null ? [] : environmentDifferences(before, after);
  return {
    machine: [...new Set([...overridden, ...others])],
    build: buildDifferences(a.build, b.build),
    problem: open === undefined ? null : `${open.text}: compare them all the same with --across-${open.name}`,
    overridden,
  };
}

interface Obstacle {
  readonly name: Exclude<keyof Across, 'provenance'>;
  readonly text: string;
}

/** Differences of machines whose results must not be compared unawares. */
function obstacles(before: Environment, after: Environment): Obstacle[] {
  const found: Obstacle[] = [];
  if (before.gpuName !== after.gpuName) {
    found.push({ name: 'gpu', text: `GPU ${before.gpuName ?? 'unknown'} → ${after.gpuName ?? 'unknown'}` });
  }
  if (majorOf(before.tensorrt) !== majorOf(after.tensorrt)) {
    found.push({ name: 'tensorrt', text: `TensorRT ${before.tensorrt ?? 'unknown'} → ${after.tensorrt ?? 'unknown'}` });
  }
  const clocks = lockDifference(before, after);
  if (clocks !== null) found.push({ name: 'clocks', text: clocks });
  return found;
}

function majorOf(version: string | null): string | null {
  return version?.split('.')[0] ?? null;
}

/** Results with another key are another history: of another GPU model, TensorRT major or locked clock. */
export function machineKey(environment: Environment | undefined): string {
  return JSON.stringify([
    environment?.gpuName ?? null,
    environment?.tensorrt?.split('.')[0] ?? null,
    lockOf(environment?.clockPolicy ?? null),
  ]);
}
