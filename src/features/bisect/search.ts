import * as z from 'zod';

import type { Io } from '../../cli/io.ts';
import { BenchError, UsageError, EXIT_CODES } from '../../errors.ts';
import { gateMetric, isMetric, metricOf } from '../../records/metric.ts';
import { textOrNull } from '../../records/scalars.ts';
import { namedCell, onlyCell } from '../../selection/cell-points.ts';
import { printable } from '../../text/printable.ts';
import { defined, isOneOf, keysOf } from '../../text/unknown-values.ts';
import { contains, git, subjectOf } from '../../tools/git/git.ts';
import { type Comparison, inTurns, type TwoCommits } from '../compare/index.ts';
import { readMatrix } from '../plan/index.ts';
import type { BisectOutput } from './report.ts';

const text = z.string();

/** The request. It is kept until there is an answer, so that `--resume` can repeat it. */
export const requestSchema = z.object({
  startedAt: text,
  cwd: text,
  matrix: textOrNull,
  cell: textOrNull,
  metric: z.string().refine(isMetric).nullable(),
  trtexec: textOrNull,
  replay: textOrNull,
  maxRuns: z.number(),
  /** Measures again although results are stored. */
  restart: z.boolean(),
  search: z.discriminatedUnion('kind', [
    z.object({
      kind: z.literal('commits'),
      good: text,
      bad: text,
      goodRef: text,
      badRef: text,
      command: z.array(text),
    }),
    z.object({ kind: z.literal('factors'), file: text }),
  ]),
});

export type BisectRequest = z.infer<typeof requestSchema>;
type CommitRequest = Extract<BisectRequest['search'], { kind: 'commits' }>;

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

type InTurns = Awaited<ReturnType<typeof inTurns>>;

/** The changes to detect, in percent. */
type Goal = Pick<Parameters<InTurns['measuredCommits']>[1], 'minChange' | 'untilSure'>;

/** What is searched. A candidate is a commit, or the factors at their bad value. */
export interface Search extends Pick<BisectOutput, 'kind'> {
  readonly good: Omit<BisectOutput['good'], 'sweepId'>;
  readonly bad: Omit<BisectOutput['bad'], 'sweepId'>;
  /** The bad end. */
  readonly all: readonly string[];
  readonly next: (steps: readonly Step[]) => Promise<NextTest>;
  /** Measures a candidate in turns with the good end, or reads what is stored. */
  readonly measured: (candidate: readonly string[], goal: Goal) => ReturnType<InTurns['measuredCommits']>;
  /** The sweeps of a candidate that could not be measured. */
  readonly idsOf: (candidate: readonly string[]) => Promise<ReturnType<InTurns['pairIds']>>;
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
  const { key } = name === null ? onlyCell(cells, 'the matrix has', cells) : namedCell(matrix, cells, name);
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
  const subjectOfName = async (name: string) => (search.kind === 'commits' ? subjectOf(io.cwd, name) : null);
  const tried = async (candidate: readonly string[], goal: Goal = {}) => {
    try {
      const { compared, failures, pair } = await search.measured(candidate, goal);
      const judged = judgementOf(compared.output);
      const [why = 'it could not be measured'] = [...failures, ...(compared.output.cells[0]?.reasons ?? [])];
      return { pair, ...judged, output: compared.output, reason: judged.verdict === 'broken' ? why : null };
    } catch (error) {
      if (!(error instanceof BenchError) || error.exitCode !== EXIT_CODES.incomplete) throw error;
      const [reason = error.name] = error.lines;
      return { pair: await search.idsOf(candidate), ...judgementOf(null), output: null, reason };
    }
  };
  const { evidence: change, output: compared, ...ends } = await tried(search.all);
  const cell = compared?.cells[0];
  const half = Math.abs(change?.changePercent ?? 0) / 2;
  const steps: Step[] = [];
  let next: NextTest = ends.verdict === 'bad' ? await search.next(steps) : { kind: 'range', names: [] };
  while (next.kind === 'test') {
    const { candidate } = next;
    const { evidence, pair, reason, verdict } = await tried(candidate, { untilSure: half, minChange: half });
    const subject = await subjectOfName(candidate[0] ?? '');
    steps.push({ candidate: [...candidate], subject, verdict, reason, evidence, sweepId: pair.head });
    io.err(`${verdict}: ${printable(candidate.join(', '))}\n`);
    next = await search.next(steps);
  }
  const causes: BisectOutput['causes'][number][] = [];
  for (const name of next.names) {
    const alone = steps.find(({ candidate }) => candidate.join() === name);
    const evidence = search.all.join() === name ? change : (alone?.evidence ?? null);
    causes.push({ name, subject: await subjectOfName(name), evidence });
  }
  const metric = metricOf(cell?.metric ?? gateMetric(request.metric, { streams: 1 }));
  const runs = [change, ...steps.map(({ evidence }) => evidence)].flatMap((evidence) => evidence?.runs ?? []);
  return {
    schemaVersion: 1,
    kind: search.kind,
    status: ends.verdict === 'bad' ? next.kind : NOT_SEARCHED[ends.verdict],
    bisectId,
    key: cell?.key ?? null,
    label: cell?.label ?? null,
    metric: metric.id,
    unit: metric.unit,
    betterIs: metric.betterIs,
    provenance: [compared?.provenance ?? []].flat()[0] ?? null,
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

/** Whether a candidate is slower than the good end, and what shows it. */
function judgementOf(output: Comparison | null): Pick<Step, 'evidence' | 'verdict'> {
  const cell = output?.cells[0];
  if (cell === undefined) return { verdict: 'broken', evidence: null };
  const { verdict, base, head, changePercent, ciPercent, mdePercent, runs } = cell;
  return {
    verdict: isOneOf(keysOf(VERDICTS), verdict) ? VERDICTS[verdict] : 'broken',
    evidence: changePercent === null ? null : { base, head, changePercent, ciPercent, mdePercent, runs },
  };
}

/** Bisects the commits between two. Each is measured in turns with GOOD. */
export async function commitSearch(settings: Settings, search: CommitRequest, io: Io): Promise<Search> {
  const { bad, badRef, command, good, goodRef } = search;
  const { measuredCommits, pairIds, requestOf, twoCommits } = await inTurns();
  const { repository } = await twoCommits(good, bad, io);
  if (!(await contains(io.cwd, bad, good))) {
    const names = `${printable(goodRef)} is not an ancestor of ${printable(badRef)}`;
    throw new UsageError(`${names}: name the older commit first, or their merge base (git merge-base)`);
  }
  const options = { ...measureOptions(settings, settings.request.matrix ?? '', io), build: command };
  const upTo = (commit: string): TwoCommits => ({
    repository,
    base: { ref: goodRef, commit: good },
    head: { ref: commit === bad ? badRef : commit, commit },
    isDirty: false,
  });
  const end = async (ref: string, commit: string) => ({ ref, commit, subject: await subjectOf(io.cwd, commit) });
  return {
    kind: 'commits',
    good: await end(goodRef, good),
    bad: await end(badRef, bad),
    all: [bad],
    next: async (steps) => nextCommit(search, steps, repository),
    measured: async ([commit = bad], goal) => measuredCommits(upTo(commit), { ...options, ...goal }, io),
    idsOf: async ([commit = bad]) => pairIds(await requestOf(upTo(commit), options, io), 1),
  };
}

/** Chooses the commit that halves the rest, as `git bisect` does. Commits that could not be judged are skipped. */
async function nextCommit({ bad, good }: CommitRequest, steps: readonly Step[], repository: string): Promise<NextTest> {
  const judged = (wanted: Step['verdict']): string[] =>
    steps.flatMap(({ candidate, verdict }) => (verdict === wanted ? candidate : []));
  const worst = judged('bad').at(-1) ?? bad;
  const left = async (order: string): Promise<string> =>
    (await git(repository, ['rev-list', order, worst, '--not', good, ...judged('good')])) ?? '';
  const tried = new Set([worst, ...judged('unclear'), ...judged('broken')]);
  const all = await left('--bisect-all');
  const distanceOf = (commit: string): number => Number(all.split(commit)[1]?.match(/dist=(\d+)/)?.[1] ?? 0);
  const names = (await left('--reverse')).split('\n').filter(Boolean);
  const untried = names.filter((commit) => !tried.has(commit));
  // Of commits that halve the rest equally well, the oldest.
  const [candidate] = untried.toSorted((a, b) => distanceOf(b) - distanceOf(a));
  if (candidate !== undefined) return { kind: 'test', candidate: [candidate] };
  return { kind: names.length === 1 ? 'found' : 'range', names };
}
