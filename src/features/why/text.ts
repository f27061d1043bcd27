import type { Cause, Explanation, ExplainedMetric, ValueChange } from '../../records/cause.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { printable } from '../../text/printable.ts';
import type { Look } from '../../terminal/look.ts';
import { formatMs, formatNumber, formatPercent, intervalText } from '../../terminal/numbers.ts';
import { type Column, renderTable } from '../../terminal/table.ts';
import { truncate, wrapHanging, wrapWords } from '../../terminal/text-width.ts';

export interface WhyReport {
  readonly base: WhyReportSide;
  readonly head: WhyReportSide;
  readonly explanation: Explanation;
}

interface WhyReportSide {
  readonly ref: string;
  readonly cell: KeyedCell;
  readonly sweepIds: readonly string[];
  readonly provenance: readonly string[];
  readonly note: string | null;
}

export function whyJson({ base, head, explanation }: WhyReport) {
  return {
    schemaVersion: 1,
    base: sideJson(base),
    head: sideJson(head),
    outcome: explanation.kind,
    metric: explanation.kind === 'noDifference' ? null : explanation.change.metric,
    changes: explanation.changes.map((change) => ({
      ...change,
      ciPercent: change.ciPercent === null ? null : [...change.ciPercent],
      runs: [...change.runs],
    })),
    causes: explanation.causes.map((cause) => ({ ...cause, evidence: [...cause.evidence] })),
    same: explanation.same,
    unknown: explanation.unknown,
    notes: explanation.notes,
  };
}

function sideJson({ ref, cell, sweepIds, provenance, note }: WhyReportSide) {
  return { ref, key: cell.key, label: cellLabel(cell), sweepIds, provenance, note };
}

const METRIC_WORDS: Readonly<Record<ExplainedMetric, string>> = {
  gpuComputeMs: 'GPU compute time',
  gpuComputeMeanMs: 'mean GPU compute time',
  latencyMs: 'latency',
  throughputQps: 'throughput',
  enqueueMs: 'enqueue time',
};

export function whyText(report: WhyReport, look: Look): string[] {
  const { base, head, explanation } = report;
  const { style, columns } = look;
  const lines = [
    ...wrapWords(headline(explanation), columns).map((line) => style.strong(line)),
    ...wrapWords(aboutText(report), columns),
    ...wrapHanging(sideLine('base', base, head), columns, 6),
    ...wrapHanging(sideLine('head', head, base), columns, 6),
    ...[base, head].flatMap(({ note }) => (note === null ? [] : [style.warn(truncate(printable(note), columns))])),
    '',
    ...changeTable(report, look),
    '',
    ...answerLines(explanation, look),
  ];
  const { same, unknown, notes } = explanation;
  if (notes.length > 0) {
    lines.push('', ...notes.flatMap((note) => wrapWords(`note: ${printable(note)}`, columns)).map(style.warn));
  }
  if (same.length > 0) {
    lines.push('', ...wrapWords(`the same on both sides: ${printable(same.join(', '))}`, columns).map(style.dim));
  }
  if (unknown.length > 0) {
    lines.push(...wrapWords(`not known: ${printable(unknown.join('; '))}`, columns).map(style.dim));
  }
  return lines;
}

/** What changed by how much, and the likeliest cause: first, so that nothing cuts it off. */
function headline(explanation: Explanation): string {
  if (explanation.kind === 'noDifference') return 'no difference beyond noise';
  const { change } = explanation;
  const [cause] = explanation.causes;
  const what = `${METRIC_WORDS[change.metric]} ${formatPercent(change.changePercent)}`;
  if (explanation.kind === 'unclear') return `${what}, unclear: the runs scatter too much to say`;
  return `${what}: ${cause === undefined ? 'not explained' : printable(cause.title)}`;
}

function aboutText({ base, head }: WhyReport): string {
  const of = printable(cellLabel(base.cell));
  return base.cell.key === head.cell.key ? of : `${of} → ${printable(cellLabel(head.cell))}`;
}

function sideLine(name: string, side: WhyReportSide, other: WhyReportSide): string {
  const ids = side.sweepIds.map((id) => id.slice(0, 8)).join('+');
  const parts = [side.provenance.join(', '), printable(side.ref), ids === '' ? '' : `sweep ${ids}`];
  if (side.cell.key !== other.cell.key) parts.push(printable(cellLabel(side.cell)));
  return `${name}  ${parts.filter((part) => part !== '').join(' · ')}`;
}

/** What became of each value: the one that is explained stands out, one that chance may have changed steps back. */
function changeTable({ explanation }: WhyReport, look: Look): string[] {
  const { style } = look;
  const right = 'right' as const;
  const paint = (change: ValueChange): ((text: string) => string) => {
    if (explanation.kind !== 'noDifference' && explanation.change === change) return style.strong;
    return change.isReal ? (text) => text : style.dim;
  };
  const columns: Column<ValueChange>[] = [
    { header: '', text: ({ isReal, isUnclear }) => (isReal ? '' : isUnclear ? '?' : '=') },
    { header: 'value', text: ({ metric }) => METRIC_WORDS[metric], minWidth: 12 },
    { header: 'change', text: ({ changePercent }) => formatPercent(changePercent), align: right },
    { header: '95 % interval', text: ({ ciPercent }) => intervalText(ciPercent), align: right, dropRank: 2 },
    { header: 'base', text: ({ metric, base }) => valueText(metric, base), dropRank: 1 },
    { header: 'head', text: ({ metric, head }) => valueText(metric, head), dropRank: 1 },
    { header: '', text: doubtText, dropRank: 3 },
  ];
  const styled = columns.map((column) => ({ ...column, style: paint }));
  return renderTable(styled, explanation.changes, look);
}

function valueText(metric: ExplainedMetric, value: number): string {
  return metric === 'throughputQps' ? `${formatNumber(value)} runs/s` : formatMs(value);
}

/** Beside a change that may be none: what would have been seen. */
function doubtText({ isReal, isUnclear, leastPercent }: ValueChange): string {
  if (isReal) return '';
  const hidden = formatNumber(leastPercent, 2);
  return `${isUnclear ? 'may be chance' : 'chance'}: only ${hidden} % would show`;
}

function answerLines(explanation: Explanation, look: Look): string[] {
  const { style, columns } = look;
  const causes = explanation.causes.flatMap((cause, place) => causeLines(cause, place + 1, look));
  switch (explanation.kind) {
    case 'noDifference': {
      const [first] = explanation.changes;
      const text = `no difference beyond noise${first === undefined ? '' : ` (${first.basis})`}`;
      const changed = explanation.causes.map(({ title }) =>
        style.dim(truncate(`  changed, without an effect that is seen: ${printable(title)}`, columns)),
      );
      return [...wrapWords(text, columns), ...changed];
    }
    case 'notExplained':
      return [
        ...wrapWords('not explained: nothing that is known differs between the two sides', columns).map(style.warn),
        ...wrapWords(whatWouldHelp(explanation.unknown), columns).map(style.dim),
      ];
    case 'unclear':
      return [
        ...wrapWords(
          `unclear: ${explanation.change.basis} scatter too much; more of them would tell. ${causes.length > 0 ? 'What would explain it:' : ''}`.trim(),
          columns,
        ).map(style.warn),
        ...causes,
      ];
    case 'explained':
      return causes;
  }
}

function whatWouldHelp(unknown: readonly string[]): string {
  return unknown.length === 0
    ? 'measure both sides again, alternating: bench compare names what chance does'
    : `it would help to know: ${printable(unknown.join('; '))}`;
}

function causeLines(cause: Cause, place: number, { style, columns }: Look): string[] {
  const { certainty, title, evidence, explainsPercent, confirm } = cause;
  const share = explainsPercent === null ? '' : `, accounts for ${formatPercent(explainsPercent, false)} of it`;
  const indent = '   ';
  return [
    ...wrapHanging(`${place}. ${printable(title)}`, columns, 3).map((line) => style.strong(line)),
    truncate(`${indent}${certainty}${share}`, columns),
    ...evidence.flatMap((line) =>
      wrapWords(printable(line), columns - indent.length - 2).map(
        (part, nth) => `${indent}${nth === 0 ? '- ' : '  '}${part}`,
      ),
    ),
    ...wrapWords(`to confirm: ${printable(confirm)}`, columns - indent.length).map((line) =>
      style.dim(`${indent}${line}`),
    ),
  ];
}
