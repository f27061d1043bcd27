import { gatedMetricOf } from '../../records/gated-metric.ts';
import { isMetric } from '../../records/metric.ts';
import { VERDICTS, type Verdict } from '../../records/verdict.ts';
import type { CheckedSweep } from '../check/index.ts';
import type { ComparedCell, Comparison } from './output.ts';

/** The judgement of a sweep in the form of a comparison: the base are the reference levels. @param note why it is this sweep */
export function comparedToReference({ findings, judged, series }: CheckedSweep, note: string | null): Comparison {
  const { sweep } = judged.series;
  const cells = series.cells.flatMap((cell): ComparedCell[] => {
    if (!isMetric(cell.metric)) return [];
    const finding = findings.find(
      ({ details, state }) => state !== 'recovered' && details.some(({ key }) => key === cell.key),
    );
    return [
      {
        key: cell.key,
        label: cell.label,
        metric: cell.metric,
        unit: cell.unit,
        betterIs: gatedMetricOf(cell.metric).betterIs,
        verdict: verdictOf(cell),
        base: cell.before,
        head: cell.now,
        changePercent: cell.changePercent,
        ciPercent: cell.ciPercent,
        mdePercent: cell.mdePercent,
        runs: [cell.referenceSweeps, cell.runs],
        moreRunsNeeded: null,
        noise: null,
        reasons: [
          ...cell.notes,
          ...(finding === undefined ? [] : [`finding ${finding.id.slice(0, 8)}: ${finding.state}`]),
        ],
        cause: finding?.likeliestCause ?? null,
      },
    ];
  });
  const numberOf = (verdict: Verdict): number => cells.filter((cell) => cell.verdict === verdict).length;
  return {
    schemaVersion: 2,
    baseRef: 'reference',
    headRef: series.sweepId.slice(0, 8),
    base: { sweepIds: [], commit: null, dirty: null, note: null },
    head: { sweepIds: [series.sweepId], commit: sweep.commit, dirty: sweep.dirty, note },
    provenance: series.provenance,
    shift: null,
    across: [],
    otherMethods: 0,
    cells,
    counts: {
      slower: numberOf('slower'),
      faster: numberOf('faster'),
      same: numberOf('same'),
      unclear: numberOf('unclear'),
      missing: numberOf('missing'),
      failed: numberOf('failed'),
      incomparable: numberOf('incomparable'),
    },
    geometricMeans: [],
  };
}

function verdictOf({ reason, verdict }: CheckedSweep['series']['cells'][number]): Verdict {
  if (reason === 'missing' || reason === 'failed') return reason;
  return VERDICTS.find((word) => word === verdict) ?? 'unclear';
}
