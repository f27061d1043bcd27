import type { ChangePoint } from '../../judge/history/change-points.ts';
import type { Alert } from '../../judge/history/nightly-alerts.ts';
import type { CellComparison } from '../../records/verdict.ts';

type BetterIs = 'lower' | 'higher';

/**
 * One history: `alarms` as the whole history shows them, `nightly` as they would have been told night by night with only
 * the past. `index` is the first night at the new level, `night` the night of telling.
 */
export function seriesLine(
  id: string,
  changes: readonly ChangePoint[],
  alerts: readonly Alert[],
  better: BetterIs,
): string {
  return JSON.stringify({
    id,
    alarms: changes.map((change) => ({ index: change.night, ...directionOf(change, better) })),
    nightly: alerts.map(({ toldOn, change }) => ({
      night: toldOn,
      index: change.night,
      ...directionOf(change, better),
    })),
  });
}

function directionOf({ shift, margin }: ChangePoint, better: BetterIs) {
  return {
    direction: shift > 0 === (better === 'lower') ? 'slower' : 'faster',
    changePercent: rounded(Math.expm1(shift) * 100),
    margin: rounded(margin),
  };
}

export function comparedLine(cell: CellComparison): string {
  const { cellKey, verdict, changePercent, ciPercent, mdePercent } = cell;
  return JSON.stringify({
    id: cellKey,
    verdict,
    changePercent: rounded(changePercent),
    ciPercent: ciPercent === null ? null : ciPercent.map(rounded),
    mdePercent: rounded(mdePercent),
  });
}

function rounded(value: number | null): number | null {
  return value === null ? null : Number(value.toPrecision(6));
}
