import * as z from 'zod';

import type { Io } from '../../cli/io.ts';
import { gateMetric, metricOf } from '../../records/metric.ts';
import {
  type OutputOf,
  count as countSchema,
  id,
  metric as metricSchema,
  output,
  provenance as provenanceSchema,
  unit as unitSchema,
} from '../../records/output-parts.ts';
import { cellComparisonSchema } from '../../records/verdict.ts';
import { namedCell, onlyCell } from '../../selection/by-name.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { truncate } from '../../terminal/text-width.ts';
import { printable } from '../../text/printable.ts';
import { defined, isOneOf, keysOf } from '../../text/unknown-values.ts';
import type { Comparison } from '../compare/index.ts';
import { readMatrix } from '../plan/index.ts';
import type { BisectRequest } from './request.ts';

export interface Settings {
  readonly request: BisectRequest;
  readonly bisectId: string;
  /** Folder next to the store for the state of git and of the factors. */
  readonly folder: string;
  /** Path of the store. */
  readonly db: string;
  readonly telemetry: boolean;
}

/** With this many runs per side, the variance of a single cell is reliable: 3.0 % false positives in 20,000 trials. */
const LEAST_RUNS = 4;

/**
 * Options for both ends and every candidate: one cell, measured in turns with the good end.
 * @throws UsageError if the matrix has no such cell, or several
 */
export function measureOptions({ db, request, telemetry }: Settings, matrix: string, io: Io) {
  const { cell: name, maxRuns, metric, replay, trtexec } = request;
  const cells = readMatrix(matrix, io).cells.map(({ cell }) => cell);
  const { key } = name === null ? onlyCell(cells, 'the matrix has', cells) : namedCell(cells, name);
  return {
    db,
    matrix,
    filter: `key=${key}`,
    repeats: Math.min(LEAST_RUNS, maxRuns),
    maxRepeats: maxRuns,
    telemetry,
    ...(request.restart ? { force: true as const } : {}),
    ...defined({ metric: metric ?? undefined, replay: replay ?? undefined, trtexec: trtexec ?? undefined }),
  };
}

type Compared = { readonly output: Comparison } | null;

const VERDICTS = { slower: 'slower', same: 'notSlower', faster: 'notSlower', unclear: 'unclear' } as const;

/** Whether a side is slower than the good end. */
export function verdictOf(compared: Compared): 'slower' | 'notSlower' | 'unclear' | 'failed' {
  const verdict = compared?.output.cells[0]?.verdict;
  return verdict !== undefined && isOneOf(keysOf(VERDICTS), verdict) ? VERDICTS[verdict] : 'failed';
}

export function evidenceOf(compared: Compared): BisectOutput['change'] {
  const [cell] = compared?.output.cells ?? [];
  if (cell === undefined || cell.changePercent === null) return null;
  const { base, head, changePercent, ciPercent, mdePercent, runs } = cell;
  return { base, head, changePercent, ciPercent, mdePercent, runs };
}

type Found = Pick<BisectOutput, 'bad' | 'causes' | 'good' | 'kind' | 'notes' | 'status' | 'steps'>;

/** @param ends comparison of the bad end with the good one; null if one of them could not be measured */
export function outputOf({ bisectId, request }: Settings, ends: Compared, found: Found): BisectOutput {
  const [cell] = ends?.output.cells ?? [];
  const metric = metricOf(cell?.metric ?? gateMetric(request.metric, { streams: 1 }));
  const change = evidenceOf(ends);
  const runs = [change, ...found.steps.map(({ evidence }) => evidence)].flatMap((evidence) => evidence?.runs ?? []);
  return {
    schemaVersion: 1,
    bisectId,
    key: cell?.key ?? null,
    label: cell?.label ?? null,
    metric: metric.id,
    unit: metric.unit,
    betterIs: metric.betterIs,
    provenance: [ends?.output.provenance ?? []].flat()[0] ?? null,
    change,
    runs: runs.reduce((a, b) => a + b, 0),
    ...found,
  };
}

export function bisectText(report: BisectOutput, look: Look): string[] {
  const { change, label, notes, provenance, runs, status, steps } = report;
  const counts = [count(steps.length, 'step'), count(runs, 'run'), `bisection ${report.bisectId.slice(0, 8)}`];
  const facts = [printable(label ?? ''), provenance ?? '', ...counts].filter((part) => part !== '');
  return [
    ...answerText(report, look),
    ...(status === 'notSlower' ? [] : evidenceText(report, change, look, 'BAD against GOOD: ')),
    ...notes.map((note) => `  ${printable(note)}`),
    ...(steps.length > 0 ? ['', ...stepTable(report, look)] : []),
    '',
    look.style.dim(truncate(facts.join(' · '), look.columns)),
  ];
}

function answerText(report: BisectOutput, look: Look): string[] {
  const { causes, change, good, bad, kind, status } = report;
  const { columns, style } = look;
  const isOfCommits = kind === 'commits';
  const names = causes.map(({ name, subject }) =>
    isOfCommits ? `${name.slice(0, 8)} ${printable(subject ?? '')}`.trimEnd() : printable(name),
  );
  const listed = names.map((name) => truncate(`  ${name}`, columns));
  const [from, to] = isOfCommits ? [endText(good), endText(bad)] : ['all good', 'all bad'];
  switch (status) {
    case 'found': {
      const title = `${isOfCommits ? 'first bad commit' : 'the factor'}: ${names[0] ?? ''}`;
      return [style.strong(truncate(title, columns)), ...evidenceText(report, causes[0]?.evidence ?? null, look)];
    }
    case 'range': {
      const between = `${isOfCommits ? 'commits' : 'settings'} between could not be judged`;
      return [style.warn(`one of these ${causes.length}, because some ${between}`), ...listed];
    }
    case 'together':
      return [style.warn('no single factor explains the change: only all of them together do'), ...listed];
    case 'notSlower': {
      const title = `${to} is not slower than ${from}: there is nothing to find`;
      return [style.warn(title), ...evidenceText(report, change, look)];
    }
    case 'unclear':
      return [style.warn(`it is unclear whether ${to} is slower than ${from}; try more --max-runs`)];
    case 'failed':
      return [style.bad(`one of the two ends could not be measured: ${from} or ${to}`)];
  }
}

function endText({ commit, ref }: BisectOutput['good']): string {
  const short = commit?.slice(0, 8) ?? '';
  return ref === null || commit?.startsWith(ref) === true ? short : `${printable(ref)} (${short})`;
}

/** `GPU compute time +3.1 % (+2.6 % to +3.6 %): 1.234 → 1.272 ms, 12 and 4 runs`. */
function evidenceText({ metric }: BisectOutput, evidence: BisectOutput['change'], look: Look, before = ''): string[] {
  if (evidence === null) return [];
  const { base, head, changePercent, ciPercent, runs } = evidence;
  const { label, unit } = metricOf(metric);
  const interval = ciPercent === null ? '' : ` (${formatPercent(ciPercent[0])} to ${formatPercent(ciPercent[1])})`;
  const change = `${label} ${formatPercent(changePercent)}${interval}`;
  const levels = `${formatNumber(base)} → ${formatNumber(head)} ${unit}, ${runs[0]} and ${count(runs[1], 'run')}`;
  return [truncate(`  ${before}${change}: ${levels}`, look.columns)];
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

export const bisectOutput = output('bench bisect --json', {
  kind: z.enum(['commits', 'factors']),
  status: z.enum(['found', 'range', 'together', 'notSlower', 'unclear', 'failed']),
  bisectId: id,
  key: id.nullable(),
  label: z.string().nullable(),
  metric: metricSchema,
  unit: unitSchema,
  betterIs: z.enum(['lower', 'higher']),
  provenance: provenanceSchema.nullable(),
  good: end,
  bad: end,
  change: evidenceSchema.describe('Change from the good end to the bad end'),
  causes: z
    .array(
      z.strictObject({
        name: z.string().describe('A commit, or the name of a factor'),
        subject: z.string().nullable(),
        evidence: evidenceSchema,
      }),
    )
    .describe('The cause, or every candidate if no single one was found'),
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
  runs: countSchema.describe('Measured runs, with those of the good and the bad end'),
  notes: z.array(z.string()),
});

export type BisectOutput = OutputOf<typeof bisectOutput>;
