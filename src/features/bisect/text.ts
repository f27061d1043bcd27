import { cellLabel } from '../../text/cell-label.ts';
import type { Metric } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import type { CellComparison } from '../../records/verdict.ts';
import type { BisectedCause, BisectedEnd, BisectReport } from './bisect-report.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { truncate } from '../../terminal/text-width.ts';

export function bisectText(report: BisectReport, look: Look): string[] {
  const { cell, change, notes, provenance, runs, steps } = report;
  const lines = [...answerText(report, look)];
  if (change !== null && report.status !== 'notSlower') {
    lines.push(fitted(`bad against good end: ${evidenceText(change, report.metric)}`, look));
  }
  lines.push(...notes.map((note) => `  ${printable(note)}`));
  if (steps.length > 0) lines.push('', ...stepTable(report, look));
  const facts = [
    cell === null ? '' : printable(cellLabel(cell)),
    provenance ?? '',
    count(steps.length, 'step'),
    count(runs, 'run'),
    `bisection ${report.bisectId.slice(0, 8)}`,
  ].filter((part) => part !== '');
  return [...lines, '', look.style.dim(truncate(facts.join(' · '), look.columns))];
}

function answerText(report: BisectReport, look: Look): string[] {
  const { causes, change, good, bad, kind, metric, status } = report;
  const { style } = look;
  const [cause] = causes;
  const [from, to] = kind === 'commits' ? [endText(good), endText(bad)] : ['all good', 'all bad'];
  switch (status) {
    case 'found':
      return [
        style.strong(
          truncate(
            `${kind === 'commits' ? 'first bad commit' : 'the factor'}: ${cause === undefined ? '' : causeText(cause, kind)}`,
            look.columns,
          ),
        ),
        ...(cause?.comparison ? [fitted(evidenceText(cause.comparison, metric), look)] : []),
      ];
    case 'range':
      return [
        style.warn(
          `one of these ${causes.length}, as ${kind === 'commits' ? 'commits' : 'settings'} between could not be judged`,
        ),
        ...listed(causes, kind, look),
      ];
    case 'together':
      return [style.warn('no single factor: only together do they make the difference'), ...listed(causes, kind, look)];
    case 'notSlower':
      return [
        style.warn(`${to} is not slower than ${from}: there is nothing to find`),
        ...(change === null ? [] : [fitted(evidenceText(change, metric), look)]),
      ];
    case 'unclear':
      return [style.warn(`it is unclear whether ${to} is slower than ${from}; try more --max-runs`)];
    case 'failed':
      return [style.bad(`an end could not be measured: ${from} or ${to}`)];
  }
}

function endText({ commit, ref }: BisectedEnd): string {
  const short = commit?.slice(0, 8) ?? '';
  return ref === null || commit?.startsWith(ref) === true ? short : `${printable(ref)} (${short})`;
}

const LISTED = 20;

function listed(causes: readonly BisectedCause[], kind: BisectReport['kind'], look: Look): string[] {
  const lines = causes.slice(0, LISTED).map((cause) => truncate(`  ${causeText(cause, kind)}`, look.columns));
  const more = causes.length - LISTED;
  return more > 0 ? [...lines, `  and ${more} more: --json has all`] : lines;
}

function causeText({ name, subject }: BisectedCause, kind: BisectReport['kind']): string {
  if (kind === 'factors') return printable(name);
  return `${name.slice(0, 8)} ${printable(subject ?? '')}`.trimEnd();
}

function fitted(text: string, { columns }: Look): string {
  return truncate(`  ${text}`, columns);
}

/** `+3.1 % (+2.6 % to +3.6 %), 1.234 → 1.272 ms, 12 and 4 runs`. */
function evidenceText(comparison: CellComparison, { label, unit }: Metric): string {
  const { base, head, changePercent, ciPercent, runs } = comparison;
  const interval = ciPercent === null ? '' : ` (${formatPercent(ciPercent[0])} to ${formatPercent(ciPercent[1])})`;
  return `${label} ${formatPercent(changePercent)}${interval}: ${formatNumber(base)} → ${formatNumber(head)} ${unit}, ${runs[0]} and ${count(runs[1], 'run')}`;
}

function stepTable(report: BisectReport, look: Look): string[] {
  const { style } = look;
  return renderTable(
    [
      {
        header: report.kind === 'commits' ? 'commit' : 'at bad',
        text: ({ candidate }) =>
          report.kind === 'commits' ? (candidate[0] ?? '').slice(0, 8) : printable(candidate.join(', ')),
        minWidth: 8,
      },
      { header: '', text: ({ subject }) => printable(subject ?? ''), minWidth: 10 },
      {
        header: 'change',
        text: ({ comparison }) => (comparison === null ? '' : formatPercent(comparison.changePercent)),
        align: 'right',
      },
      {
        header: 'runs',
        text: ({ comparison }) => (comparison === null ? '' : String(comparison.runs[1])),
        align: 'right',
        dropRank: 1,
      },
      {
        header: '',
        text: ({ verdict }) => verdict,
        style: ({ verdict }) => (verdict === 'bad' ? style.bad : verdict === 'good' ? style.good : style.warn),
      },
      { header: '', text: ({ reason }) => printable(reason ?? ''), minWidth: 10 },
    ],
    report.steps,
    look,
  );
}
