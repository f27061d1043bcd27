import type { PageCell, PageData } from '../page-types.ts';
import { formatNumber } from '../../terminal/numbers.ts';
import { nightName, nightsOf } from './data.ts';
import { textTable } from './dom.ts';

const MARK_WORDS = { slower: 'slower', faster: 'faster', environment: 'environment', baseline: 'baseline' } as const;

export function nightLines(data: PageData, cell: PageCell, night: number): string[] {
  const found = nightsOf(cell)[night] ?? null;
  const commit = data.sweeps.commits[night] ?? '';
  const environment = found?.environment === null ? undefined : data.environments[found?.environment ?? -1];
  return [
    nightName(data, night),
    found === null
      ? 'nothing measured that counts'
      : `${formatNumber(found.value)} ${cell.unit}, median of ${found.runs} ${found.runs === 1 ? 'run' : 'runs'}`,
    ...(found !== null && found.runs > 1
      ? [`runs from ${formatNumber(found.least)} to ${formatNumber(found.most)} ${cell.unit}`]
      : []),
    commit === '' ? 'no commit' : `commit ${commit}`,
    ...(environment === undefined ? [] : [environment]),
    ...cell.marks.filter(({ step }) => step === night).map(({ kind, text }) => `${MARK_WORDS[kind]}: ${text}`),
    ...cell.leftOut
      .filter((entry) => entry.night === night)
      .map(({ runs, reason }) => `left out, ${runs} ${runs === 1 ? 'run' : 'runs'}: ${reason}`),
    `sweep ${data.sweeps.ids[night]?.slice(0, 8) ?? ''}, ${data.provenance}`,
  ];
}

export function nightTable(data: PageData, cell: PageCell): HTMLElement {
  const rows = nightsOf(cell).map((found, night) => {
    const [, , ...rest] = nightLines(data, cell, night);
    const known = rest.filter((line) => !line.startsWith('runs from')).join('; ');
    return [
      nightName(data, night),
      known,
      String(found?.runs ?? 0),
      found === null ? '–' : formatNumber(found.value),
      found === null ? '' : formatNumber(found.least),
      found === null ? '' : formatNumber(found.most),
    ];
  });
  return textTable(
    `${cell.metric}, ${cell.unit}, ${data.provenance}`,
    ['sweep', 'what is known', 'runs', 'median', 'least', 'most'],
    rows,
    2,
  );
}
