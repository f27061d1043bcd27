import { compareCells } from '../../judge/compare/compare-cells.ts';
import { type Deployment, precisionTwinKey } from '../../judge/deployment.ts';
import type { ParetoOutput } from './output.ts';

/** The first available one is the reference. */
const REFERENCE_PRECISIONS = ['fp16', 'fp32', 'tf32'] as const;

/** Throughput next to that of the same deployment in the reference precision. */
export type SpeedUp = Omit<NonNullable<ParetoOutput['workloads'][number][number]['speedUp']>, 'referenceKey'> & {
  readonly reference: Deployment;
};

/** By cell key; none for the reference itself. */
export function speedUpsOf(deployments: readonly Deployment[]): Map<string, SpeedUp> {
  const pairs = pairsOf(deployments);
  const { cells } = compareCells(
    pairs.map(({ one, reference }) => ({
      cellKey: one.cell.key,
      base: reference.runsQps,
      head: one.runsQps,
      betterIs: 'higher',
    })),
    { sameNight: true },
  );
  const judged = new Map(cells.map((comparison) => [comparison.cellKey, comparison]));
  return new Map(
    pairs.map(({ one, reference }): [string, SpeedUp] => {
      const comparison = judged.get(one.cell.key);
      const interval = comparison?.ciPercent ?? null;
      return [
        one.cell.key,
        {
          reference,
          ratio: one.throughputQps / reference.throughputQps,
          interval: interval === null ? null : [1 + interval[0] / 100, 1 + interval[1] / 100],
          latencyRatio:
            one.latencyMs === null || reference.latencyMs === null || one.latencyMs === 0
              ? null
              : reference.latencyMs / one.latencyMs,
          verdict: comparison?.verdict ?? 'unclear',
          reasons: comparison?.reasons ?? [],
        },
      ];
    }),
  );
}

function pairsOf(deployments: readonly Deployment[]) {
  const twins = Map.groupBy(deployments, ({ cell }) => precisionTwinKey(cell));
  return [...twins.values()].flatMap((group) => {
    const reference = REFERENCE_PRECISIONS.map((precision) =>
      group.find(({ cell }) => cell.precision === precision),
    ).find((found) => found !== undefined);
    if (reference === undefined) return [];
    return group.filter((one) => one !== reference).map((one) => ({ one, reference }));
  });
}

function directionOf({ ratio, verdict }: SpeedUp): 'slower' | 'faster' | null {
  if (verdict === 'slower' || verdict === 'faster') return verdict;
  if (verdict === 'same' || ratio === 1) return null;
  return ratio < 1 ? 'slower' : 'faster';
}

/** How one precision does next to another, over all pairs of cells that differ in nothing else. */
export function tallyPrecisions(
  deployments: readonly Deployment[],
  speedUps: ReadonlyMap<string, SpeedUp>,
): ParetoOutput['precisions'][number][] {
  const found = deployments.flatMap(({ cell }) => {
    const speedUp = speedUps.get(cell.key);
    return speedUp === undefined
      ? []
      : [{ precision: cell.precision, reference: speedUp.reference.cell.precision, speedUp }];
  });
  const groups = Map.groupBy(found, ({ precision, reference }) => `${precision} ${reference}`);
  return [...groups.values()].flatMap((group): ParetoOutput['precisions'][number][] => {
    const [first] = group;
    if (first === undefined) return [];
    const ratios = group.map(({ speedUp }) => speedUp.ratio);
    const times = (isOne: (speedUp: SpeedUp) => boolean): number =>
      group.filter(({ speedUp }) => isOne(speedUp)).length;
    return [
      {
        precision: first.precision,
        reference: first.reference,
        pairs: group.length,
        slower: times((speedUp) => directionOf(speedUp) === 'slower'),
        faster: times((speedUp) => directionOf(speedUp) === 'faster'),
        unclear: times(({ verdict }) => verdict === 'unclear'),
        leastRatio: Math.min(...ratios),
        mostRatio: Math.max(...ratios),
      },
    ];
  });
}
