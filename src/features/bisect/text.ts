import { metricOf } from '../../records/metric.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { truncate } from '../../terminal/text-width.ts';
import { printable } from '../../text/printable.ts';
import type { BisectOutput } from './output.ts';

type Cause = BisectOutput['causes'][number];
type Evidence = NonNullable<BisectOutput['change']>;

export function bisectText(report: BisectOutput, look: Look): string[] {
  const { change, label, metric, notes, provenance, runs, steps } = report;
  const lines = [...answerText(report, look)];
  if (change !== null && report.status !== 'notSlower') {
    lines.push(fitted(`BAD against GOOD: ${evidenceText(change, metric)}`, look));
  }
  lines.push(...notes.map((note) => `  ${printable(note)}`));
  if (steps.length > 0) lines.push('', ...stepTable(report, look));
  const counts = [count(steps.length, 'step'), count(runs, 'run'), `bisection ${report.bisectId.slice(0, 8)}`];
  const facts = [printable(label ?? ''), provenance ?? '', ...counts].filter((part) => part !== '');
  return [...lines, '', look.style.dim(truncate(facts.join(' · '), look.columns))];
}

const WORDS = {
  commits: { found: 'first bad commit', several: 'commits' },
  factors: { found: 'the factor', several: 'settings' },
} as const;

function answerText(report: BisectOutput, look: Look): string[] {
  const { causes, change, good, bad, kind, metric, status } = report;
  const { style } = look;
  const [cause] = causes;
  const evidence = (of: Evidence | null | undefined): string[] => (of ? [fitted(evidenceText(of, metric), look)] : []);
  const name = cause === undefined ? '' : causeText(cause, kind);
  const words = WORDS[kind];
  const [from, to] = kind === 'commits' ? [endText(good), endText(bad)] : ['all good', 'all bad'];
  switch (status) {
    case 'found':
      return [style.strong(truncate(`${words.found}: ${name}`, look.columns)), ...evidence(cause?.evidence)];
    case 'range': {
      const title = `one of these ${causes.length}, as ${words.several} between could not be judged`;
      return [style.warn(title), ...listed(causes, kind, look)];
    }
    case 'together':
      return [style.warn('no single factor: only together do they make the difference'), ...listed(causes, kind, look)];
    case 'notSlower':
      return [style.warn(`${to} is not slower than ${from}: there is nothing to find`), ...evidence(change)];
    case 'unclear':
      return [style.warn(`it is unclear whether ${to} is slower than ${from}; try more --max-runs`)];
    case 'failed':
      return [style.bad(`an end could not be measured: ${from} or ${to}`)];
  }
}

function endText({ commit, ref }: BisectOutput['good']): string {
  const short = commit?.slice(0, 8) ?? '';
  return ref === null || commit?.startsWith(ref) === true ? short : `${printable(ref)} (${short})`;
}

const LISTED = 20;

function listed(causes: readonly Cause[], kind: BisectOutput['kind'], look: Look): string[] {
  const lines = causes.slice(0, LISTED).map((cause) => truncate(`  ${causeText(cause, kind)}`, look.columns));
  const more = causes.length - LISTED;
  return more > 0 ? [...lines, `  and ${more} more: --json has all`] : lines;
}

function causeText({ name, subject }: Cause, kind: BisectOutput['kind']): string {
  if (kind === 'factors') return printable(name);
  return `${name.slice(0, 8)} ${printable(subject ?? '')}`.trimEnd();
}

function fitted(text: string, { columns }: Look): string {
  return truncate(`  ${text}`, columns);
}

/** `+3.1 % (+2.6 % to +3.6 %), 1.234 → 1.272 ms, 12 and 4 runs`. */
function evidenceText(evidence: Evidence, metric: BisectOutput['metric']): string {
  const { base, head, changePercent, ciPercent, runs } = evidence;
  const { label, unit } = metricOf(metric);
  const interval = ciPercent === null ? '' : ` (${formatPercent(ciPercent[0])} to ${formatPercent(ciPercent[1])})`;
  return `${label} ${formatPercent(changePercent)}${interval}: ${formatNumber(base)} → ${formatNumber(head)} ${unit}, ${runs[0]} and ${count(runs[1], 'run')}`;
}

function stepTable(report: BisectOutput, look: Look): string[] {
  const { style } = look;
  const isOfCommits = report.kind === 'commits';
  return renderTable<BisectOutput['steps'][number]>(
    [
      {
        header: isOfCommits ? 'commit' : 'at bad',
        text: ({ candidate }) => (isOfCommits ? (candidate[0] ?? '').slice(0, 8) : printable(candidate.join(', '))),
        minWidth: 8,
      },
      { header: '', text: ({ subject }) => printable(subject ?? ''), minWidth: 10, isSentence: true },
      {
        header: 'change',
        text: ({ evidence }) => (evidence === null ? '' : formatPercent(evidence.changePercent)),
        align: 'right',
      },
      { header: 'runs', text: ({ evidence }) => String(evidence?.runs[1] ?? ''), align: 'right', dropRank: 1 },
      {
        header: '',
        text: ({ verdict }) => verdict,
        style: ({ verdict }) => (verdict === 'bad' ? style.bad : verdict === 'good' ? style.good : style.warn),
      },
      { header: '', text: ({ reason }) => printable(reason ?? ''), minWidth: 10, isSentence: true },
    ],
    report.steps,
    look,
  );
}
