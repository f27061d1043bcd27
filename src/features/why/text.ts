import * as z from 'zod';

import { BOUND_WORDS, boundBySchema } from '../../records/bound.ts';
import { causeSchema, explainedMetricOf, valueChangeSchema } from '../../records/cause.ts';
import { type OutputOf, id as idSchema, output, provenance } from '../../records/output-parts.ts';
import type { Verdict } from '../../records/verdict.ts';
import { type Look, dotted, truncate, wrapHanging, wrapWords } from '../../terminal/look.ts';
import { formatMs, formatNumber, formatPercent, intervalText, shareText } from '../../terminal/numbers.ts';
import { type Column, numberColumn, renderTable, textColumn } from '../../terminal/table.ts';
import { changeStyle } from '../../terminal/words.ts';
import { printable } from '../../text/printable.ts';

type Change = WhyOutput['changes'][number];

export function whyText(explained: WhyOutput, look: Look): string[] {
  const { base, head, layers, unknown, notes } = explained;
  const { style, columns } = look;
  const of = printable(base.label);
  const answer = answerLines(explained, look);
  const changed = layers.flatMap((layer) => wrapHanging(`- ${printable(layer)}`, columns, 2));
  return [
    ...wrapWords(headline(explained), columns).map(style.strong),
    ...wrapWords(base.key === head.key ? of : `${of} → ${printable(head.label)}`, columns),
    ...wrapHanging(sideLine('base', base, head), columns, 6),
    ...wrapHanging(sideLine('head', head, base), columns, 6),
    ...[base, head].flatMap(({ note }) => (note === null ? [] : [style.warn(truncate(printable(note), columns))])),
    '',
    ...changeTable(explained, look),
    ...(answer.length === 0 ? [] : ['', ...answer]),
    ...(changed.length === 0 ? [] : ['', 'changed layers that no cause names:', ...changed]),
    ...(notes.length === 0 ? [] : ['']),
    ...notes.flatMap((note) => wrapWords(`note: ${printable(note)}`, columns)).map(style.warn),
    ...(unknown.length > 0 ? wrapWords(`not known: ${printable(unknown.join('; '))}`, columns).map(style.dim) : []),
  ];
}

/** A cause that accounts for less of the change is called a part of the explanation. */
const WHOLE_FROM_PERCENT = 75;

/** The headline comes first, so that nothing truncates it. */
function headline(explained: WhyOutput): string {
  const change = explainedChange(explained);
  if (change === undefined) {
    const quiet = explained.changes
      .filter(({ isReal }) => !isReal)
      .map(({ metric }) => explainedMetricOf(metric).label);
    const which = quiet.length === explained.changes.length ? '' : ` in ${quiet.join(' and ')}`;
    return `no difference beyond noise${which} (${explained.changes[0]?.basis ?? ''})`;
  }
  const [cause] = explained.causes;
  const what = `${explainedMetricOf(change.metric).label} ${formatPercent(change.changePercent)}`;
  if (explained.outcome === 'unclear') return `${what}, unclear: ${change.basis} vary too much; more runs would decide`;
  const part = (cause?.explainsPercent ?? 100) < WHOLE_FROM_PERCENT ? ', in part' : '';
  return `${what}${part}: ${cause === undefined ? 'not explained' : printable(cause.title)}`;
}

/** The explained change; undefined if nothing differs beyond noise. */
function explainedChange({ changes, metric }: WhyOutput): Change | undefined {
  return changes.find((change) => change.metric === metric);
}

function sideLine(name: string, side: WhyOutput['base'], other: WhyOutput['base']): string {
  const ids = side.sweepIds.map((id) => id.slice(0, 8)).join('+');
  const parts = [side.provenance.join(', '), side.ref === ids ? '' : printable(side.ref), ids && `sweep ${ids}`];
  const isUsual = side.boundBy === 'compute' && other.boundBy === 'compute';
  if (side.boundBy !== null && !isUsual) parts.push(`bound by ${BOUND_WORDS[side.boundBy]}`);
  if (side.key !== other.key) parts.push(printable(side.label));
  return `${name}  ${dotted(parts)}`;
}

/** The change of each value. Only the explained change and other real ones have a color. */
function changeTable({ changes, metric }: WhyOutput, look: Look): string[] {
  const columns: Column<Change>[] = [
    { header: '', text: ({ isReal, isUnclear }) => (isReal ? '' : isUnclear ? '?' : '=') },
    textColumn('value', (change) => explainedMetricOf(change.metric).label, 0, {
      style: (change) => (change.metric === metric ? look.style.strong : (text) => text),
    }),
    numberColumn('change', ({ changePercent }) => formatPercent(changePercent), 0, {
      style: (change) => changeStyle(verdictOf(change), look.style),
    }),
    numberColumn('95 % interval', ({ ciPercent }) => intervalText(ciPercent), 2),
    { header: 'base', text: (change) => valueText(change, change.base), dropRank: 1 },
    { header: 'head', text: (change) => valueText(change, change.head), dropRank: 1 },
  ];
  return [...renderTable(columns, changes, look), ...remarkLines(changes, look)];
}

function verdictOf({ changePercent, isReal, metric }: Change): Verdict {
  if (!isReal) return 'same';
  return changePercent > 0 === (explainedMetricOf(metric).betterIs === 'lower') ? 'slower' : 'faster';
}

function valueText({ metric }: Change, value: number): string {
  const { unit } = explainedMetricOf(metric);
  return unit === 'ms' ? formatMs(value) : `${formatNumber(value)} ${unit}`;
}

/** `= within noise: enqueue time (detectable from 20 %)` */
function remarkLines(changes: readonly Change[], { columns, style }: Look): string[] {
  const known = changes.filter(({ isReal }) => !isReal);
  return [true, false].flatMap((isUnclear) => {
    const named = known
      .filter((change) => change.isUnclear === isUnclear)
      .map((one) => `${explainedMetricOf(one.metric).label} (detectable from ${formatNumber(one.leastPercent, 2)} %)`);
    const start = isUnclear ? '? unclear' : '= within noise';
    return named.length === 0 ? [] : wrapHanging(`${start}: ${named.join(', ')}`, columns, 2).map(style.dim);
  });
}

function answerLines(explained: WhyOutput, look: Look): string[] {
  const { style, columns } = look;
  const causes = explained.causes.flatMap((cause, place) => causeLines(cause, place + 1, look));
  switch (explained.outcome) {
    case 'noDifference':
      return explained.causes.flatMap(({ title }) =>
        wrapHanging(`changed, without a detectable effect: ${printable(title)}`, columns, 2).map(style.dim),
      );
    case 'notExplained':
      return wrapWords(`not explained by what is recorded; ${nextStep(explained)}`, columns).map(style.warn);
    case 'unclear':
      return causes.length === 0 ? [] : [style.warn('possible causes:'), ...causes];
    case 'explained':
      return causes;
  }
}

function nextStep({ base, head }: WhyOutput): string {
  const [from, to] = [base, head].map(({ commit }) => commit?.slice(0, 8));
  if (from === undefined || to === undefined || from === to) return 'measure both sides again';
  return `commits between: git log ${from}..${to}; measure both again, in turns: bench compare ${from}..${to} --run --matrix FILE`;
}

function causeLines(cause: WhyOutput['causes'][number], place: number, { style, columns }: Look): string[] {
  const { certainty, title, evidence, confirm } = cause;
  const share = shareText(cause, ', accounts for', 'of it');
  return [
    ...wrapHanging(`${place}. ${printable(title)}`, columns, 3).map(style.strong),
    truncate(`   ${certainty}${share}`, columns),
    ...evidence.flatMap((line) =>
      wrapWords(printable(line), columns - 5).map((part, nth) => `   ${nth === 0 ? '-' : ' '} ${part}`),
    ),
    ...wrapHanging(`   to confirm: ${printable(confirm)}`, columns, 3).map(style.dim),
  ];
}

const point = {
  ref: z.string(),
  key: idSchema,
  label: z.string(),
  sweepIds: z.array(idSchema),
  commit: z.string().nullable(),
};
const found = { provenance: z.array(provenance), boundBy: boundBySchema, note: z.string().nullable() };
const sideSchema = z.strictObject({ ...point, ...found });

export const why = output('bench why --json', {
  base: sideSchema,
  head: sideSchema,
  outcome: z
    .enum(['explained', 'notExplained', 'unclear', 'noDifference'])
    .describe('unclear: the change may be chance; the causes would explain it'),
  metric: valueChangeSchema.shape.metric.nullable().describe('Metric of the explained change'),
  changes: z.array(valueChangeSchema),
  causes: z.array(causeSchema).describe('The likeliest first'),
  layers: z.array(z.string()).describe('Changed layers without a cause, by added time'),
  unknown: z.array(z.string()),
  notes: z.array(z.string()).describe('Limitations of the evidence'),
});

export type WhyOutput = OutputOf<typeof why>;
