import * as z from 'zod';

import { metricOf } from '../../records/metric.ts';
import { type OutputOf, count as runCount, id, metric, output, provenance, unit } from '../../records/output-parts.ts';
import { EXIT_CODES, type ExitCode } from '../../errors.ts';
import { cellComparisonSchema } from '../../records/verdict.ts';
import { type Look, truncate } from '../../terminal/look.ts';
import { count, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { reasonWords } from '../../terminal/words.ts';
import { printable } from '../../text/printable.ts';

/** Only a cause is a success: a script must not take "nothing to find" for one. */
export function exitOf({ status }: BisectOutput): ExitCode {
  if (status === 'found') return EXIT_CODES.fine;
  return status === 'range' || status === 'failed' ? EXIT_CODES.incomplete : EXIT_CODES.unclear;
}

export function bisectText(report: BisectOutput, look: Look): string[] {
  const { bad, causes, change, good, label, notes, runs, status, steps } = report;
  const { columns, style } = look;
  const isOfCommits = report.kind === 'commits';
  const names = causes.map(({ name, subject }) =>
    printable(isOfCommits ? `${name.slice(0, 8)} ${subject ?? ''}`.trimEnd() : name),
  );
  const [to, from] = isOfCommits ? [endText(bad), endText(good)] : ['all bad', 'all good'];
  const titles: Readonly<Record<typeof status, string>> = {
    found: `${isOfCommits ? 'first bad commit' : 'the factor'}: ${names[0] ?? ''}`,
    together: 'no single factor explains the change: several together do',
    range: `one of these ${causes.length}, because some between could not be judged`,
    failed: `one of the two ends could not be measured: ${from} or ${to}`,
    notSlower: `${to} is not slower than ${from}: there is nothing to find`,
    unclear: `it is unclear whether ${to} is slower than ${from}; try more --max-runs`,
  };
  const counts = [count(steps.length, 'step'), count(runs, 'run'), `bisection ${report.bisectId.slice(0, 8)}`];
  const facts = [printable(label ?? ''), report.provenance ?? '', ...counts].filter((part) => part !== '');
  return [
    (status === 'found' ? style.strong : style.warn)(truncate(titles[status], columns)),
    ...(status === 'found' ? [] : names.map((name) => truncate(`  ${name}`, columns))),
    ...(change === null ? [] : [truncate(`  BAD against GOOD: ${changeText(report, change)}`, columns)]),
    ...notes.map((note) => `  ${printable(reasonWords(note))}`),
    ...(steps.length > 0 ? ['', ...stepTable(report, look)] : []),
    '',
    style.dim(truncate(facts.join(' · '), columns)),
  ];
}

function endText({ commit, ref }: BisectOutput['good']): string {
  const short = commit?.slice(0, 8) ?? '';
  return ref === null || commit?.startsWith(ref) === true ? short : `${printable(ref)} (${short})`;
}

/** `GPU compute time +3.1 % (+2.6 % to +3.6 %): 1.234 → 1.272 ms, 12 and 4 runs`. */
function changeText(report: BisectOutput, change: NonNullable<BisectOutput['change']>): string {
  const { base, head, changePercent, ciPercent, runs } = change;
  const interval = ciPercent === null ? '' : ` (${ciPercent.map((each) => formatPercent(each)).join(' to ')})`;
  const levels = `${formatNumber(base)} → ${formatNumber(head)} ${report.unit}, ${runs[0]} and ${count(runs[1], 'run')}`;
  return `${metricOf(report.metric).label} ${formatPercent(changePercent)}${interval}: ${levels}`;
}

function stepTable({ kind, steps }: BisectOutput, look: Look): string[] {
  const isOfCommits = kind === 'commits';
  const shown = (names: readonly string[]) => printable(isOfCommits ? (names[0] ?? '').slice(0, 8) : names.join(', '));
  return renderTable<BisectOutput['steps'][number]>(
    [
      { header: isOfCommits ? 'commit' : 'at bad', text: ({ candidate }) => shown(candidate), minWidth: 8 },
      { header: '', text: ({ subject }) => printable(subject ?? ''), minWidth: 10 },
      { header: 'change', text: ({ evidence }) => formatPercent(evidence?.changePercent ?? null), align: 'right' },
      { header: 'runs', text: ({ evidence }) => String(evidence?.runs[1] ?? ''), align: 'right' },
      { header: '', text: ({ verdict }) => verdict },
      { header: '', text: ({ reason }) => printable(reasonWords(reason ?? '')), minWidth: 10 },
    ],
    steps,
    look,
  );
}

/** `unclear` after the maximum number of runs, `broken` when it could not be measured. */
const STEP_VERDICTS = ['good', 'bad', 'unclear', 'broken'] as const;

const evidenceSchema = cellComparisonSchema
  .pick({ base: true, head: true, changePercent: true, ciPercent: true, mdePercent: true, runs: true })
  .strict()
  .nullable();

const end = z.strictObject({
  ref: z.string().nullable().describe('Revision as typed; null for factors'),
  commit: z.string().nullable(),
  subject: z.string().nullable(),
  sweepId: id,
});

const cause = z.strictObject({
  name: z.string().describe('A commit, or the name of a factor'),
  subject: z.string().nullable(),
  evidence: evidenceSchema,
});

export const bisectOutput = output('bench bisect --json', {
  kind: z.enum(['commits', 'factors']),
  status: z.enum(['found', 'range', 'together', 'notSlower', 'unclear', 'failed']),
  bisectId: id,
  key: id.nullable(),
  label: z.string().nullable(),
  metric,
  unit,
  betterIs: z.enum(['lower', 'higher']),
  provenance: provenance.nullable(),
  good: end,
  bad: end,
  change: evidenceSchema.describe('Change from the good end to the bad end'),
  causes: z.array(cause).describe('The cause, or every candidate if no single one was found'),
  steps: z.array(
    z.strictObject({
      candidate: z.array(z.string()).describe('The commit, or the factors at their bad value'),
      subject: z.string().nullable(),
      verdict: z.enum(STEP_VERDICTS),
      reason: z.string().nullable(),
      evidence: evidenceSchema,
      sweepId: id,
    }),
  ),
  runs: runCount.describe('Measured runs, with those of the good and the bad end'),
  notes: z.array(z.string()),
});

export type BisectOutput = OutputOf<typeof bisectOutput>;
