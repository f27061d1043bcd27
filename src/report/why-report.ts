import type { Cause, Explanation, ExplainedMetric, ValueChange } from '../domain/cause.ts';
import type { KeyedCell } from '../domain/cell.ts';
import { cellLabel } from '../domain/cell-label.ts';
import { printable } from '../domain/printable.ts';
import type { Look } from './look.ts';
import { formatMs, formatNumber, formatPercent } from './numbers.ts';
import { truncate, wrapWords } from './text-width.ts';

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
    style.strong(truncate(headline(report), columns)),
    truncate(sideLine('base', base, head), columns),
    truncate(sideLine('head', head, base), columns),
    ...[base, head].flatMap(({ note }) =>
      note === null ? [] : [style.warn(truncate(printable(note), columns))],
    ),
    '',
    ...explanation.changes.map((change) => changeLine(change, explanation, look)),
  ];
  lines.push('', ...answerLines(explanation, look));
  const { same, unknown } = explanation;
  if (same.length > 0)
    lines.push(
      '',
      style.dim(truncate(`the same on both sides: ${printable(same.join(', '))}`, columns)),
    );
  if (unknown.length > 0) {
    lines.push(style.dim(truncate(`not known: ${printable(unknown.join('; '))}`, columns)));
  }
  return lines;
}

function headline({ base, head, explanation }: WhyReport): string {
  const of =
    base.cell.key === head.cell.key
      ? printable(cellLabel(base.cell))
      : `${printable(cellLabel(base.cell))} → ${printable(cellLabel(head.cell))}`;
  if (explanation.kind === 'noDifference') return `${of}: no difference beyond noise`;
  const { change } = explanation;
  const [cause] = explanation.causes;
  const what = `${METRIC_WORDS[change.metric]} ${formatPercent(change.changePercent)}`;
  return `${of}: ${what}, ${cause === undefined ? 'not explained' : printable(cause.title)}`;
}

function sideLine(name: string, side: WhyReportSide, other: WhyReportSide): string {
  const ids = side.sweepIds.map((id) => id.slice(0, 8)).join('+');
  const parts = [side.provenance.join(', '), printable(side.ref), ids === '' ? '' : `sweep ${ids}`];
  if (side.cell.key !== other.cell.key) parts.push(printable(cellLabel(side.cell)));
  return `${name}  ${parts.filter((part) => part !== '').join(' · ')}`;
}

function changeLine(
  change: ValueChange,
  explanation: Explanation,
  { style, columns }: Look,
): string {
  const { metric, base, head, changePercent, ciPercent, isReal, leastPercent } = change;
  const isSubject = explanation.kind !== 'noDifference' && explanation.change === change;
  const number = (value: number): string =>
    metric === 'throughputQps' ? `${formatNumber(value)} runs/s` : formatMs(value);
  const interval =
    ciPercent === null
      ? ''
      : ` (${formatPercent(ciPercent[0]).replace(/ %$/, '')} … ${formatPercent(ciPercent[1])})`;
  const chance = isReal
    ? ''
    : `, no more than chance makes it (${formatNumber(leastPercent, 2)} %)`;
  const text = `${METRIC_WORDS[metric].padEnd(21)} ${number(base)} → ${number(head)}  ${formatPercent(changePercent)}${interval}${chance}`;
  const line = truncate(`  ${text}`, columns);
  return isSubject ? style.strong(line) : isReal ? line : style.dim(line);
}

function answerLines(explanation: Explanation, look: Look): string[] {
  const { style, columns } = look;
  switch (explanation.kind) {
    case 'noDifference': {
      const [first] = explanation.changes;
      const lines = [`no difference beyond noise${first === undefined ? '' : ` (${first.basis})`}`];
      for (const { title } of explanation.causes) {
        lines.push(
          style.dim(
            truncate(`  changed, without an effect that is seen: ${printable(title)}`, columns),
          ),
        );
      }
      return lines;
    }
    case 'notExplained':
      return [
        style.warn('not explained: nothing that is known differs between the two sides'),
        ...wrapWords(whatWouldHelp(explanation.unknown), columns).map((line) => style.dim(line)),
      ];
    case 'explained':
      return explanation.causes.flatMap((cause, place) => causeLines(cause, place + 1, look));
  }
}

function whatWouldHelp(unknown: readonly string[]): string {
  return unknown.length === 0
    ? 'measure both sides again, alternating: bench compare names what chance does'
    : `it would help to know: ${printable(unknown.join('; '))}`;
}

function causeLines(cause: Cause, place: number, { style, columns }: Look): string[] {
  const { certainty, title, evidence, explainsPercent, confirm } = cause;
  const share =
    explainsPercent === null ? '' : `, accounts for ${formatPercent(explainsPercent, false)} of it`;
  const indent = '   ';
  return [
    ...wrapWords(`${place}. ${printable(title)}`, columns).map((line) => style.strong(line)),
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
