import { existsSync } from 'node:fs';

import * as z from 'zod';

import { SEARCH_AXES } from '../../../judge/latency-search.ts';
import {
  count as countSchema,
  id,
  output as outputSchema,
  provenance as provenanceSchema,
  type OutputOf,
} from '../../../records/output-parts.ts';
import type { Sweep } from '../../../records/sweep.ts';
import { median } from '../../../statistics/order-statistics.ts';
import type { Look } from '../../../terminal/look.ts';
import { count, formatMs, formatPercent } from '../../../terminal/numbers.ts';
import { dotted, wrapHanging, wrapWords } from '../../../terminal/text-width.ts';
import { printable } from '../../../text/printable.ts';
import { SearchRuns, type SearchRequest, type SearchedGroup, wantedSearch } from './search-runs.ts';
import { gitStateOf } from '../../../cli/git-state.ts';
import { noTrtexec } from '../../../cli/program.ts';
import { storePath } from '../../../cli/store-location.ts';
import { withStore } from '../../../cli/with-store.ts';
import { prepare } from '../../plan/index.ts';
import { plannedSweep } from '../../../run/planned-sweep.ts';
import { printResult, type Io } from '../../../cli/io.ts';
import { EXIT_CODES, type ExitCode } from '../../../exit-codes.ts';
import type { SweepOptions } from '../command.ts';
import type { StoreDatabase } from '../../../store/file/open.ts';

type Group = SearchOutput['groups'][number];

type Point = Group['points'][number];

/** Runs in addition to a bisection: a second one on each side of the limit, and one at the point above. */
const MORE_THAN_BISECTED = 3;

/** @param sweepId null for a plan */
export function searchOutput(
  runs: SearchRuns,
  { provenance, sweepId }: { readonly provenance: Sweep['provenance']; readonly sweepId: string | null },
): SearchOutput {
  const { groups, made } = runs.found();
  const { axis, maxLatencyMs, maxRuns, maxRepeats, metric, surePercent } = runs.search;
  const shown = groups.map(groupOutput);
  const points = shown.flatMap((group) => group.points);
  const product = points.length * maxRepeats;
  const expected = shown
    .filter(({ isComplete }) => !isComplete)
    .map(
      (group) =>
        MORE_THAN_BISECTED +
        Math.ceil(Math.log2(group.points.filter(({ state }) => state === 'notMeasured').length + 1)),
    );
  return {
    schemaVersion: 1,
    sweepId,
    provenance,
    limits: { maxLatencyMs, metric: metric === 'p99Ms' ? 'p99' : 'median', surePercent, maxRuns },
    axis,
    groups: shown,
    runs: {
      made,
      known: points.reduce((sum, { knownRuns }) => sum + knownRuns, 0),
      expected: Math.min(
        maxRuns ?? product,
        product,
        expected.reduce((sum, each) => sum + each, 0),
      ),
      product,
    },
  };
}

function groupOutput({ best, isMonotone, next, points }: SearchedGroup): Group {
  const shown = points.map(({ at, isClose, knownRuns, planned, state, values }): Point => {
    const { cell, label } = planned;
    return { key: cell.key, label, at, state, isClose, limitedMs: median(values), runs: values.length, knownRuns };
  });
  const { cell, label = '' } = points[0]?.planned ?? {};
  return {
    label,
    model: cell?.model ?? '',
    precision: cell?.precision ?? '',
    isComplete: next === null,
    isMonotone,
    highest: shown.find(({ key }) => key === best?.cellKey) ?? null,
    points: shown,
  };
}

/** Whether every group has an answer and no point was lost. */
export function isAnswered({ groups }: SearchOutput): boolean {
  return groups.every(
    ({ highest, isComplete, points }) =>
      isComplete && highest !== null && points.every(({ state }) => state !== 'lost'),
  );
}

export function searchText(output: SearchOutput, look: Look): string[] {
  const { axis, groups, limits, provenance, runs, sweepId } = output;
  const cells = groups.reduce((sum, { points }) => sum + points.length, 0);
  const isDone = groups.every(({ isComplete }) => isComplete);
  const cost = sweepId === null && !isDone ? `about ${count(runs.expected, 'run')}` : count(runs.made, 'run');
  const about = [
    provenance,
    sweepId !== null ? `sweep ${sweepId.slice(0, 8)}` : isDone ? 'all known' : 'plan',
    `${cost} instead of ${runs.product} (${runs.product / cells} for each cell)`,
    ...(runs.known === 0 ? [] : [`${count(runs.known, 'run')} known from other sweeps`]),
  ];
  const [what, metric] = [
    axis === 'batch' ? 'highest batch' : 'most streams',
    limits.metric === 'p99' ? 'latency p99' : 'median latency',
  ];
  return [
    look.style.strong(
      `${what} with a ${metric} of at most ${formatMs(limits.maxLatencyMs)}, ${limits.surePercent} % sure`,
    ),
    ...wrapHanging(dotted(about), look.columns, 2),
    ...groups.flatMap((group) => ['', ...groupLines(group, output, look)]),
    ...(limits.maxRuns !== null && !isDone && sweepId !== null
      ? ['', look.style.warn(`stopped at ${count(limits.maxRuns, 'run')}: --max-runs`)]
      : []),
  ];
}

function groupLines(group: Group, { axis, limits, sweepId }: SearchOutput, { columns, style }: Look): string[] {
  const { highest, isComplete, isMonotone, label, points } = group;
  const wrapped = (text: string): string[] => wrapWords(text, columns - 2).map((line) => `  ${line}`);
  const name = printable(highest?.label ?? label);
  if (sweepId === null && points.every(({ runs }) => runs === 0)) {
    return [style.accent(name), ...wrapped(`${axis} ${points.map(({ at }) => at).join(', ')}`)];
  }
  const larger = points.filter(({ at }) => at > (highest?.at ?? -Infinity));
  const bound = larger.find(({ state }) => state === 'misses');
  const measured = points.filter(({ state }) => state !== 'notMeasured').map(pointText);
  const none = isComplete ? 'nothing is within the limit' : 'no answer yet';
  return [
    highest === null
      ? style.bad(`${name}: ${none}`)
      : style.good(`${name}: ${axis} ${highest.at}${isComplete ? '' : ' at least'}`),
    ...(highest === null
      ? []
      : wrapped(`${placeText(highest, limits)}${larger.length === 0 ? `; no larger ${axis} in the matrix` : ''}`)),
    ...(bound === undefined ? [] : wrapped(`${axis} ${bound.at}: ${placeText(bound, limits)}`)),
    ...(measured.length === 0 ? [] : wrapped(`measured: ${measured.join(', ')}`)),
    ...(isMonotone
      ? []
      : wrapped(`latency does not grow with ${axis}: bench measured all larger values`).map(style.warn)),
  ];
}

function placeText({ isClose, limitedMs, runs }: Point, { maxLatencyMs }: SearchOutput['limits']): string {
  const share = (1 - (limitedMs ?? 0) / maxLatencyMs) * 100;
  const single = runs === 1 ? ', by a single run' : '';
  const close = isClose ? ', too close to be sure' : '';
  return `${formatMs(limitedMs)}, ${formatPercent(Math.abs(share), false)} ${share < 0 ? 'over' : 'below'} the limit${single}${close}`;
}

function pointText({ at, runs, state }: Point): string {
  return state === 'lost' ? `${at} failed` : `${at} ${state === 'open' ? 'is open' : state} (${count(runs, 'run')})`;
}

const point = z.strictObject({
  key: id,
  label: z.string(),
  at: countSchema.describe('Batch or number of streams'),
  state: z
    .enum(['holds', 'misses', 'open', 'lost', 'notMeasured'])
    .describe('open: needs more runs; lost: its runs failed'),
  isClose: z.boolean().describe('True if run noise hides the difference to the limit: the median decided'),
  limitedMs: z.number().nullable().describe('Median of the limited latency over the runs'),
  runs: countSchema,
  knownRuns: countSchema.describe('How many of these runs come from other sweeps'),
});

export const search = outputSchema('bench choose --search --json', {
  sweepId: id.nullable().describe('Null for a dry run, or if no new run was needed'),
  provenance: provenanceSchema,
  limits: z.strictObject({
    maxLatencyMs: z.number(),
    metric: z.enum(['median', 'p99']),
    surePercent: z.number(),
    maxRuns: countSchema.nullable(),
  }),
  axis: z.enum(SEARCH_AXES),
  groups: z.array(
    z.strictObject({
      label: z.string().describe('Label of its smallest cell'),
      model: z.string(),
      precision: z.string(),
      isComplete: z.boolean(),
      isMonotone: z.boolean().describe('False if a larger point had a lower latency than a smaller one'),
      highest: point.nullable().describe('The highest point found within the limit'),
      points: z.array(point),
    }),
  ),
  runs: z.strictObject({
    made: countSchema,
    known: countSchema.describe('Reused runs from other sweeps of the same commit and machine'),
    expected: countSchema.describe('Expected number of runs if no point is near the limit'),
    product: countSchema.describe('Number of runs without a search: all cells, maximum repeats'),
  }),
});

type SearchOutput = OutputOf<typeof search>;

/** Shows what a search would measure and what is already known. Runs nothing. */
export async function showSearch(
  path: string,
  options: SweepOptions,
  io: Io,
  request: SearchRequest,
): Promise<ExitCode> {
  const { plan, program } = await prepare(path, options, 'models maybe later', io);
  const git = await gitStateOf(options, io);
  const startedAt = io.now().toISOString();
  const sweep = plannedSweep(plan, program ?? noTrtexec(io), { ...git, sweepId: '', startedAt });
  const show = (db: StoreDatabase | null): ExitCode => {
    const wanted = wantedSearch(db, plan, sweep, null, request);
    const runs = new SearchRuns({ db, plan, search: wanted, sweep, recorded: null });
    const output = searchOutput(runs, { ...sweep, sweepId: null });
    printResult(io, options, output, searchText);
    return EXIT_CODES.fine;
  };
  return existsSync(storePath(options.db, io)) ? withStore(options, io, ({ db }) => show(db)) : show(null);
}
