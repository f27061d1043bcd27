import type { BuildRecord } from '../../records/run.ts';
import { lockOf } from '../../machine/requests.ts';
import type { Environment } from '../../records/environment.ts';

export type ComparedBuild = Pick<BuildRecord, 'modelSha256' | 'flags'>;

/** The fields of an environment with their names and units, in the order in which a machine is described. */
export const ENVIRONMENT_FIELDS = [
  ['gpuName', 'GPU', ''],
  ['gpuUuid', 'GPU UUID', ''],
  ['computeCapability', 'compute capability', ''],
  ['gpuMemoryMib', 'GPU memory', ' MiB'],
  ['driver', 'driver', ''],
  ['cuda', 'CUDA', ''],
  ['tensorrt', 'TensorRT', ''],
  ['tensorrtLibrary', 'TensorRT library', ''],
  ['clockPolicy', 'clocks', ''],
  ['maxSmClockMhz', 'highest SM clock', ' MHz'],
  ['powerLimitW', 'power limit', ' W'],
  ['ecc', 'ECC', ''],
  ['mig', 'MIG', ''],
  ['persistence', 'persistence mode', ''],
  ['computeMode', 'compute mode', ''],
  ['driverModel', 'driver model', ''],
  ['vbios', 'VBIOS', ''],
  ['pcieMax', 'PCIe', ''],
  ['host', 'host', ''],
  ['cpu', 'CPU', ''],
  ['cpuGovernor', 'CPU governor', ''],
  ['numaNode', 'NUMA node of the GPU', ''],
  ['os', 'OS', ''],
  ['container', 'container', ''],
] as const satisfies readonly (readonly [keyof Environment, string, string])[];

/** Named first among differences: they matter most. What follows from the GPU's name is not named. */
const FIRST: readonly string[] = ['clockPolicy', 'tensorrt', 'tensorrtLibrary', 'driver', 'cuda', 'host'];
const OF_GPU_NAME: readonly string[] = ['computeCapability', 'gpuMemoryMib'];
const DIFFERING_FIELDS = ENVIRONMENT_FIELDS.filter(([field]) => !OF_GPU_NAME.includes(field)).toSorted(
  ([a], [b]) => rankOf(a) - rankOf(b),
);

function rankOf(field: string): number {
  return FIRST.includes(field) ? FIRST.indexOf(field) : FIRST.length;
}

/** Known differences of the machine, in words: `driver 580.1 → 580.2`. */
export function environmentDifferences(before: Environment, after: Environment): string[] {
  return DIFFERING_FIELDS.flatMap(([field, name, unit]) =>
    before[field] !== after[field] && before[field] !== null && after[field] !== null
      ? [`${field === 'gpuUuid' ? 'GPU' : name} ${before[field]}${unit} → ${after[field]}${unit}`]
      : [],
  );
}

const MODEL_CHANGED = 'the model changed';

/** Differences between the builds of the engines. */
export function buildDifferences(a: ComparedBuild | null, b: ComparedBuild | null): string[] {
  if (a === null || b === null) return [];
  const reasons: string[] = [];
  if (a.modelSha256 !== null && b.modelSha256 !== null && a.modelSha256 !== b.modelSha256) {
    reasons.push(MODEL_CHANGED);
  }
  const gone = a.flags.filter((flag) => !b.flags.includes(flag));
  const come = b.flags.filter((flag) => !a.flags.includes(flag));
  if (gone.length + come.length > 0) {
    reasons.push(`build: ${gone.join(' ') || 'no flag'} → ${come.join(' ') || 'no flag'}`);
  }
  return reasons;
}

/** Differences that make two sides incomparable unless overridden. */
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

/**
 * What differs between two sides of a cell, of the machine and of the engine's making, and what keeps them from being
 * compared.
 */
export function differencesOf(a: MadeOn, b: MadeOn, across: Across) {
  const [before, after] = [a.environment, b.environment];
  const found = before === null || after === null ? [] : obstacles(before, after);
  const open = found.find(({ name }) => !across[name]);
  const overridden = found.filter(({ name }) => across[name]).map(({ text }) => text);
  const others = before === null || after === null ? [] : environmentDifferences(before, after);
  return {
    machine: [...new Set([...overridden, ...others])],
    build: buildDifferences(a.build, b.build),
    problem: open === undefined ? null : `${open.text}: compare them anyway with --across-${open.name}`,
    overridden,
  };
}

interface Obstacle {
  readonly name: Exclude<keyof Across, 'provenance'>;
  readonly text: string;
}

/** Differences of machines that prevent a comparison. */
function obstacles(before: Environment, after: Environment): Obstacle[] {
  const found: Obstacle[] = [];
  if (before.gpuName !== after.gpuName) {
    found.push({ name: 'gpu', text: `GPU ${before.gpuName ?? 'unknown'} → ${after.gpuName ?? 'unknown'}` });
  }
  if (majorOf(before.tensorrt) !== majorOf(after.tensorrt)) {
    found.push({ name: 'tensorrt', text: `TensorRT ${before.tensorrt ?? 'unknown'} → ${after.tensorrt ?? 'unknown'}` });
  }
  if (lockOf(before.clockPolicy) !== lockOf(after.clockPolicy)) {
    const text = `clocks ${before.clockPolicy ?? 'unknown'} → ${after.clockPolicy ?? 'unknown'}`;
    found.push({ name: 'clocks', text });
  }
  return found;
}

function majorOf(version: string | null): string | null {
  return version?.split('.')[0] ?? null;
}

/** Histories do not continue across GPU models, TensorRT majors or locked clocks; a MIG device's name has its profile. */
export function machineKey(environment: Environment | undefined): string {
  return JSON.stringify([
    environment?.gpuName ?? null,
    environment?.tensorrt?.split('.')[0] ?? null,
    lockOf(environment?.clockPolicy ?? null),
  ]);
}
