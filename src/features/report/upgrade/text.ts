import type { KeyedCell } from '../../../records/cell.ts';
import type { Look } from '../../../terminal/look.ts';
import { count } from '../../../terminal/numbers.ts';
import { renderTable } from '../../../terminal/table.ts';
import { wrapHanging } from '../../../terminal/text-width.ts';
import { printable } from '../../../text/printable.ts';
import { cellLines, GROUP_COLUMNS, worstOf } from './columns.ts';
import type { UpgradeOutput } from './output.ts';

/** The rest is in the files. */
const SHOWN_CELLS = 12;

export function upgradeText(upgrade: UpgradeOutput, cells: ReadonlyMap<string, KeyedCell>, look: Look): string[] {
  const { style } = look;
  const wrapped = (text: string): string[] => wrapHanging(printable(text), look.columns, 2);
  const worst = worstOf(upgrade);
  const more = worst.length - SHOWN_CELLS;
  return [
    ...wrapped(upgrade.headline).map(style.strong),
    ...wrapped(answerText(upgrade)).map({ slower: style.bad, faster: style.good, '': style.warn }[answerTone(upgrade)]),
    ...aboutLines(upgrade).flatMap(wrapped).map(style.dim),
    '',
    ...renderTable(GROUP_COLUMNS, upgrade.groups, look),
    ...(worst.length === 0 ? [] : ['', style.strong('to look at first')]),
    ...(worst.length === 0 ? [] : cellLines(worst.slice(0, SHOWN_CELLS), cells, look)),
    ...(more > 0 ? [style.dim(`and ${count(more, 'more cell')}: in --json, --md and --html`)] : []),
  ];
}

/** `against moving: 2 slower cells, …`, or that nothing is, as far as cells have a verdict. */
export function answerText({ against, counts }: Pick<UpgradeOutput, 'against' | 'counts'>): string {
  if (against.length > 0) return `against moving: ${against.join(', ')}`;
  const judged = judgedCells(counts);
  if (judged === 0) return 'nobody can say yet: no cell has a verdict';
  const part =
    judged === counts.cells ? '' : `, in ${judged} of ${count(counts.cells, 'cell')}: the rest has no verdict`;
  return `nothing measured speaks against moving${part}`;
}

/** How it is shown. */
export function answerTone({ against, counts }: Pick<UpgradeOutput, 'against' | 'counts'>): 'slower' | 'faster' | '' {
  return against.length > 0 ? 'slower' : judgedCells(counts) === 0 ? '' : 'faster';
}

function judgedCells({ faster, same, slower }: UpgradeOutput['counts']): number {
  return faster + same + slower;
}

/** Which sides were taken, what differs between them, and what is not known. */
export function aboutLines({
  across,
  base,
  baseRef,
  changed,
  head,
  headRef,
  provenance,
  unknown,
}: UpgradeOutput): string[] {
  const sides = [
    ['base', baseRef, base],
    ['head', headRef, head],
  ] as const;
  return [
    ...sides.map(([name, ref, { note, sweepIds }]) => {
      const ids = sweepIds.map((id) => id.slice(0, 8)).join('+');
      return `${name}: ${[provenance].flat().join(', ')}, ${ref}, sweep ${ids}${note === null ? '' : ` (${note})`}`;
    }),
    ...(changed.length === 0 ? [] : [`changed: ${changed.join(', ')}`]),
    ...across.filter((text) => !changed.includes(text)).map((text) => `compared anyway: ${text}`),
    ...(unknown.length === 0 ? [] : [`not known: ${unknown.join(', ')}`]),
  ];
}
