import type { Environment } from '../domain/environment.ts';

export interface ComparedBuild {
  readonly modelSha256: string | null;
  readonly flags: readonly string[];
}

const NAMED_FIELDS = [
  ['TensorRT', 'tensorrt'],
  ['driver', 'driver'],
  ['CUDA', 'cuda'],
  ['host', 'host'],
  ['GPU', 'gpuName'],
  ['GPU', 'gpuUuid'],
  ['CPU', 'cpu'],
] as const;

/** What of the machine is known to be another, in words: `driver 580.1 → 580.2`. */
export function environmentDifferences(before: Environment, after: Environment): string[] {
  return NAMED_FIELDS.flatMap(([name, field]) =>
    before[field] !== after[field] && before[field] !== null && after[field] !== null
      ? [`${name} ${before[field]} → ${after[field]}`]
      : [],
  );
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
