import { gatedMetricOf } from '../../records/gated-metric.ts';
import { isMetric } from '../../records/metric.ts';
import { countsOf, VERDICTS } from '../../records/verdict.ts';
import type { CheckedSweep } from '../check/index.ts';
import type { ComparedCell, Comparison } from './output.ts';

/** The verdicts of the gate in the form of a comparison; base holds the reference levels. */
export function comparedToReference({ findings, judged, series }: CheckedSweep, note: string | null): Comparison {
  const { commit, dirty, sweepId } = judged.series.sweep;
  const cells = series.cells.flatMap((cell): ComparedCell[] => {
    const { before, changePercent, ciPercent, key, label, mdePercent, metric, now, reason, unit } = cell;
    if (!isMetric(metric)) return [];
    const finding = findings.find(({ cells: keys, state }) => state !== 'recovered' && keys.includes(key));
    const isWithout = reason === 'missing' || reason === 'failed';
    const said = finding === undefined ? [] : [`finding ${finding.id.slice(0, 8)}: ${finding.state}`];
    return [
      {
        key,
        label,
        metric,
        unit,
        changePercent,
        ciPercent,
        mdePercent,
        betterIs: gatedMetricOf(metric).betterIs,
        verdict: isWithout ? reason : (VERDICTS.find((word) => word === cell.verdict) ?? 'unclear'),
        base: before,
        head: now,
        runs: [cell.referenceSweeps, cell.runs],
        moreRunsNeeded: null,
        noise: null,
        reasons: [...cell.notes, ...said],
        cause: finding?.likeliestCause ?? null,
      },
    ];
  });
  return {
    schemaVersion: 2,
    baseRef: 'reference',
    headRef: sweepId.slice(0, 8),
    base: { sweepIds: [], commit: null, dirty: null, note: null },
    head: { sweepIds: [sweepId], commit, dirty, note },
    provenance: series.provenance,
    shift: null,
    across: [],
    otherMethods: 0,
    cells,
    counts: countsOf(cells),
    geometricMeans: [],
  };
}
