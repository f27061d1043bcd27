import * as z from 'zod';

import type { Io } from '../../cli/io.ts';
import { BenchError } from '../../errors.ts';
import { EXIT_CODES } from '../../exit-codes.ts';
import { gateMetric, isMetric, metricOf } from '../../records/metric.ts';
import { textOrNull } from '../../records/scalars.ts';
import { namedCell, onlyCell } from '../../selection/by-name.ts';
import { printable } from '../../text/printable.ts';
import { defined, isOneOf, keysOf } from '../../text/unknown-values.ts';
import type { Comparison } from '../compare/index.ts';
import { readMatrix } from '../plan/index.ts';
import type { BisectOutput } from './report.ts';

const commits = { good: z.string(), bad: z.string(), goodRef: z.string(), badRef: z.string() };

/** The request. It is kept until there is an answer, so that `--resume` can repeat it. */
export const requestSchema = z.object({
  startedAt: z.string(),
  cwd: z.string(),
  matrix: textOrNull,
  cell: textOrNull,
  metric: z.string().refine(isMetric).nullable(),
  trtexec: textOrNull,
  replay: textOrNull,
  maxRuns: z.number(),
  /** Measures again although results are stored. */
  restart: z.boolean(),
  search: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('commits'), ...commits, command: z.array(z.string()) }),
    z.object({ kind: z.literal('factors'), file: z.string() }),
  ]),
});

/** A request in the form of version 0.1. */
export const earlierSchema = z.object({
  isFinished: z.literal(false),
  request: z.object({ search: z.union([z.object(commits), z.object({ file: z.string() })]) }),
});

export type BisectRequest = z.infer<typeof requestSchema>;
export type CommitRequest = Extract<BisectRequest['search'], { kind: 'commits' }>;

export interface Settings {
  readonly request: BisectRequest;
  readonly bisectId: string;
  /** Folder next to the store for the request, and for engines and logs of factors. */
  readonly folder: string;
  /** Path of the store. */
  readonly db: string;
  readonly telemetry: boolean;
}

export type Step = BisectOutput['steps'][number];

/** `names`: what was found, or the candidates that remain; `together`: no single factor makes the difference. */
export type NextTest =
  | { readonly kind: 'test'; readonly candidate: readonly string[] }
  | { readonly kind: 'found' | 'range' | 'together'; readonly names: readonly string[] };

interface Measured {
  readonly pair: { readonly base: string; readonly head: string };
  readonly compared: { readonly output: Comparison } | null;
}

/** What is searched. A candidate is a commit, or the factors at their bad value. */
export interface Search extends Pick<BisectOutput, 'kind'> {
  readonly good: Omit<BisectOutput['good'], 'sweepId'>;
  readonly bad: Omit<BisectOutput['bad'], 'sweepId'>;
  /** The bad end. */
  readonly all: readonly string[];
  readonly next: (steps: readonly Step[]) => Promise<NextTest>;
  /** Measures a candidate in turns with the good end, or reads what is stored. @param goal changes to detect, in percent */
  readonly measured: (candidate: readonly string[], goal: Goal) => Promise<Measured>;
  /** The sweeps of a candidate that could not be measured. */
  readonly idsOf: (candidate: readonly string[]) => Promise<Measured['pair']>;
  readonly subjectOf: (name: string) => Promise<string | null>;
}

interface Goal {
  readonly untilSure?: number;
  readonly minChange?: number;
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

const VERDICTS = { slower: 'bad', same: 'good', faster: 'good', unclear: 'unclear' } as const;

/**
 * Measures both ends, then candidates until one is left, each against the good end. Stored measurements are not
 * repeated, so that the same request continues an interrupted search.
 */
export async function searched({ bisectId, request }: Settings, search: Search, io: Io): Promise<BisectOutput> {
  const tried = async (candidate: readonly string[], goal: Goal = {}) => {
    try {
      return { ...(await search.measured(candidate, goal)), reason: null };
    } catch (error) {
      if (!(error instanceof BenchError) || error.exitCode !== EXIT_CODES.incomplete) throw error;
      return { pair: await search.idsOf(candidate), compared: null, reason: error.lines[0] ?? error.name };
    }
  };
  const ends = await tried(search.all);
  const [cell] = ends.compared?.output.cells ?? [];
  const change = evidenceOf(ends);
  const half = Math.abs(change?.changePercent ?? 0) / 2;
  const steps: Step[] = [];
  const verdict = verdictOf(ends);
  const isSlower = verdict === 'bad';
  let next: NextTest = isSlower ? await search.next(steps) : { kind: 'range', names: [] };
  while (next.kind === 'test') {
    const { candidate } = next;
    const found = await tried(candidate, { untilSure: half, minChange: half });
    const step = {
      candidate: [...candidate],
      subject: await search.subjectOf(candidate[0] ?? ''),
      verdict: verdictOf(found),
      evidence: evidenceOf(found),
      sweepId: found.pair.head,
    };
    steps.push({ ...step, reason: found.reason ?? (step.verdict === 'broken' ? 'it could not be measured' : null) });
    io.err(`${step.verdict}: ${printable(candidate.join(', '))}\n`);
    next = await search.next(steps);
  }
  const causes: BisectOutput['causes'][number][] = [];
  for (const name of next.names) {
    const alone = steps.find(({ candidate }) => candidate.length === 1 && candidate[0] === name);
    const evidence = search.all.join() === name ? change : (alone?.evidence ?? null);
    causes.push({ name, subject: await search.subjectOf(name), evidence });
  }
  const metric = metricOf(cell?.metric ?? gateMetric(request.metric, { streams: 1 }));
  const runs = [change, ...steps.map(({ evidence }) => evidence)].flatMap((evidence) => evidence?.runs ?? []);
  return {
    schemaVersion: 1,
    kind: search.kind,
    status: isSlower ? next.kind : NOT_SEARCHED[verdict],
    bisectId,
    key: cell?.key ?? null,
    label: cell?.label ?? null,
    metric: metric.id,
    unit: metric.unit,
    betterIs: metric.betterIs,
    provenance: [ends.compared?.output.provenance ?? []].flat()[0] ?? null,
    good: { ...search.good, sweepId: ends.pair.base },
    bad: { ...search.bad, sweepId: ends.pair.head },
    change,
    causes,
    steps,
    runs: runs.reduce((a, b) => a + b, 0),
    notes: ends.reason === null ? [] : [ends.reason],
  };
}

const NOT_SEARCHED = { good: 'notSlower', unclear: 'unclear', broken: 'failed' } as const;

/** Whether a candidate is slower than the good end. */
function verdictOf({ compared }: Pick<Measured, 'compared'>): Step['verdict'] {
  const verdict = compared?.output.cells[0]?.verdict;
  return verdict !== undefined && isOneOf(keysOf(VERDICTS), verdict) ? VERDICTS[verdict] : 'broken';
}

function evidenceOf({ compared }: Pick<Measured, 'compared'>): BisectOutput['change'] {
  const [cell] = compared?.output.cells ?? [];
  if (cell === undefined || cell.changePercent === null) return null;
  const { base, head, changePercent, ciPercent, mdePercent, runs } = cell;
  return { base, head, changePercent, ciPercent, mdePercent, runs };
}
