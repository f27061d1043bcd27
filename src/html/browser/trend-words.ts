import type { PageCell, PageData } from '../page-types.ts';
import { count, formatNumber } from '../../terminal/numbers.ts';
import { sweepName, valuesOf } from './data.ts';
import { textTable } from './dom.ts';

export function valueText(cell: PageCell, sweep: number): string {
  const found = valuesOf(cell)[sweep] ?? null;
  return found === null ? 'nothing measured that counts' : `${formatNumber(found.value)} ${cell.unit}`;
}

export function sweepLines(data: PageData, cell: PageCell, sweep: number): string[] {
  const found = valuesOf(cell)[sweep] ?? null;
  const commit = data.sweeps.commits[sweep] ?? '';
  const environment = found?.environment === null ? undefined : data.environments[found?.environment ?? -1];
  return [
    sweepName(data, sweep),
    found === null ? valueText(cell, sweep) : `${valueText(cell, sweep)}, median of ${count(found.runs, 'run')}`,
    ...(found !== null && found.runs > 1
      ? [`runs from ${formatNumber(found.least)} to ${formatNumber(found.most)} ${cell.unit}`]
      : []),
    commit === '' ? 'no commit' : `commit ${commit}`,
    ...(environment === undefined ? [] : [environment]),
    ...cell.marks.filter(({ step }) => step === sweep).map(({ kind, text }) => `${kind}: ${text}`),
    ...cell.leftOut
      .filter((entry) => entry.sweep === sweep)
      .map(({ runs, reason }) => `left out, ${count(runs, 'run')}: ${reason}`),
    `sweep ${data.sweeps.ids[sweep]?.slice(0, 8) ?? ''}, ${data.provenance}`,
  ];
}

/** What is as in the sweep before is not said again. */
export function sweepTable(data: PageData, cell: PageCell): HTMLElement {
  let before: readonly string[] = [];
  const rows = valuesOf(cell).map((found, sweep) => {
    const [, , ...lines] = sweepLines(data, cell, sweep);
    const known = lines.filter((line) => !line.startsWith('runs from') && !before.includes(line)).join('; ');
    before = lines;
    return [
      sweepName(data, sweep),
      known,
      String(found?.runs ?? 0),
      found === null ? '–' : formatNumber(found.value),
      found === null ? '' : formatNumber(found.least),
      found === null ? '' : formatNumber(found.most),
    ];
  });
  return textTable(
    `${cell.label}: ${cell.metric}, ${cell.unit}, ${data.provenance}`,
    ['sweep', 'what is new', 'runs', 'median', 'least', 'most'],
    rows,
    2,
  );
}
