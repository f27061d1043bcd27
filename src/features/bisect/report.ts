import { metricOf } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import type { BisectOutput } from './output.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { truncate } from '../../terminal/text-width.ts';
import { changeFrom } from './turns.ts';
import type { CellComparison } from '../../records/verdict.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { findSweep } from '../../store/sweeps/sweeps.ts';
import type { Measurements } from './measurements.ts';
import type { SearchEnd } from './search.ts';
import type { Session } from './state.ts';
import type { Side } from './side.ts';
import type { Task } from './subject.ts';

type Cause = BisectOutput['causes'][number];
type Evidence = NonNullable<BisectOutput['change']>;

export function bisectText(report: BisectOutput, look: Look): string[] {
  const { change, label, metric, notes, provenance, runs, steps } = report;
  const lines = [...answerText(report, look)];
  if (change !== null && report.status !== 'notSlower') {
    lines.push(fitted(`bad against good end: ${evidenceText(change, metric)}`, look));
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

/** Machine drift that gets a note. */
const DRIFT_PERCENT = 0.5;

export function reportOf(session: Session, task: Task, found: Measurements, end: SearchEnd): BisectOutput {
  const { bisectId, request, steps } = session.state();
  const { search } = request;
  const { good, bad, metric } = found;
  const against = (base: Side, side: Side | null): CellComparison | null =>
    side === null ? null : changeFrom(found.valuesOf(base), found.valuesOf(side), metric.betterIs);
  const judged = steps.flatMap((step) => {
    const side = found.sideWithKey(step.candidate);
    return step.verdict === null || side === null ? [] : [{ ...step, verdict: step.verdict, side }];
  });
  const names = 'names' in end ? end.names : [];
  const sides = [good, bad, ...judged.map(({ side }) => side)];
  const refs = search.kind === 'commits' ? [search.goodRef, search.badRef] : [];
  return {
    schemaVersion: 1,
    kind: search.kind,
    status: end.kind,
    bisectId,
    provenance: findSweep(session.store.db, good.sweepId)?.provenance ?? null,
    good: endOf(good, refs[0], task),
    bad: endOf(bad, refs[1], task),
    runs: sides.reduce((sum, { runs }) => sum + runs.length, 0),
    notes: [...('reason' in end ? [end.reason] : []), ...driftNote(steps), ...restNote(names, task, found, against)],
    key: found.cell?.key ?? null,
    label: found.cell === null ? null : cellLabel(found.cell),
    metric: metric.id,
    unit: metric.unit,
    betterIs: metric.betterIs,
    change: evidenceOf(against(good, bad)),
    causes: names.map((name) => ({
      name,
      subject: task.subjectOf(name),
      evidence: evidenceOf(against(good, found.sideWithKey(task.keyOf(name)))),
    })),
    steps: judged.map(({ candidate, reason, side, verdict }) => ({
      candidate: task.namesOf(candidate),
      subject: task.subjectOf(candidate),
      verdict,
      reason,
      sweepId: side.sweepId,
      evidence: evidenceOf(against(good, side)),
    })),
  };
}

function evidenceOf(comparison: CellComparison | null): BisectOutput['change'] {
  if (comparison === null) return null;
  const { base, head, changePercent, ciPercent, mdePercent, runs } = comparison;
  return { base, head, changePercent, ciPercent, mdePercent, runs };
}

function endOf(side: Side, ref: string | undefined, task: Task): BisectOutput['good'] {
  const { subject, sweepId } = side;
  const { commit } = subject.git;
  return { ref: ref ?? null, commit, subject: commit === null ? null : task.subjectOf(commit), sweepId };
}

function driftNote(steps: readonly { readonly driftPercent: number | null }[]): string[] {
  const drifts = steps.map(({ driftPercent }) => Math.abs(driftPercent ?? 0));
  const most = Math.max(0, ...drifts);
  return most < DRIFT_PERCENT
    ? []
    : [`the machine moved by up to ${formatPercent(most, false)} meanwhile; that was taken off`];
}

/** Whether the result explains the whole change. */
function restNote(
  names: readonly string[],
  task: Task,
  found: Measurements,
  against: (base: Side, side: Side | null) => CellComparison | null,
): string[] {
  const [name] = names;
  const cause = name === undefined || names.length > 1 ? null : found.sideWithKey(task.keyOf(name));
  if (cause === null || cause === found.bad) return [];
  const rest = against(cause, found.bad);
  if (rest?.verdict !== 'slower') return [];
  return [
    `there is more than this: the bad end is another ${formatPercent(rest.changePercent, false)} worse; go on from here with it as GOOD`,
  ];
}
