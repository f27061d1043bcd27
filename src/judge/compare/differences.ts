import type { BuildRecord } from '../../records/run.ts';
import { lockOf } from '../../machine/clock-request.ts';
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
export function lockDifference(before: Environment, after: Environment): string | null {
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
