import type { KeyedCell } from '../../records/cell.ts';
import type { Deployment } from '../../judge/deployment.ts';

/** What a deployment has to keep. */
export interface Slo {
  readonly maxLatencyMs: number;
  readonly metric: 'median' | 'p99';
  readonly minSqnrDb: number | null;
}

/** How a deployment stands to the limits. */
export interface SloCandidate {
  readonly deployment: Deployment;
  /** In the metric of the limit. */
  readonly latencyMs: number;
  /** Share of the limit that is left: negative by how much it is missed. */
  readonly headRoomPercent: number;
  readonly accuracy: 'kept' | 'missed' | 'notChecked';
}

export interface SloAnswer {
  /** One cell of the workload, to name it by. */
  readonly example: KeyedCell;
  /** Those within the limits, the one with the most throughput first. */
  readonly fitting: readonly SloCandidate[];
  /** Of those that are not, the one that misses least: by accuracy kept, then by latency. */
  readonly nearest: SloCandidate | null;
  readonly candidates: number;
}

/** The deployments of one workload under limits. Those without a latency are no candidates. */
export function answerSlo(workload: readonly Deployment[], slo: Slo): SloAnswer | null {
  const [example] = workload;
  if (example === undefined) return null;
  const candidates = workload.flatMap((deployment): SloCandidate[] => {
    const latencyMs = slo.metric === 'p99' ? deployment.p99Ms : deployment.latencyMs;
    if (latencyMs === null) return [];
    return [
      {
        deployment,
        latencyMs,
        headRoomPercent: (1 - latencyMs / slo.maxLatencyMs) * 100,
        accuracy: accuracyUnder(deployment, slo.minSqnrDb),
      },
    ];
  });
  const fits = ({ latencyMs, accuracy }: SloCandidate): boolean => latencyMs <= slo.maxLatencyMs && accuracy === 'kept';
  const others = candidates.filter((candidate) => !fits(candidate));
  return {
    example: example.cell,
    fitting: candidates.filter(fits).toSorted((a, b) => speedOf(b) - speedOf(a)),
    nearest:
      others.toSorted(
        (a, b) => Number(b.accuracy === 'kept') - Number(a.accuracy === 'kept') || a.latencyMs - b.latencyMs,
      )[0] ?? null,
    candidates: candidates.length,
  };
}

/** In samples a second; within a workload either all know their batch or queries are what is counted. */
function speedOf({ deployment }: SloCandidate): number {
  return deployment.itemsPerS ?? deployment.throughputQps;
}

function accuracyUnder({ cell, accuracy }: Deployment, minSqnrDb: number | null): SloCandidate['accuracy'] {
  // FP32 is what others are measured against.
  if (minSqnrDb === null || cell.precision === 'fp32') return 'kept';
  if (accuracy === null) return 'notChecked';
  return (accuracy.sqnrDb ?? Infinity) >= minSqnrDb ? 'kept' : 'missed';
}
