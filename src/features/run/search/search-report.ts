import { type Look, dotted, wrapHanging, wrapWords } from '../../../terminal/look.ts';
import { count, formatMs, formatPercent } from '../../../terminal/numbers.ts';
import { printable } from '../../../text/printable.ts';
import { type SearchOutput, SearchRuns, type SearchRequest, wantedSearch } from './search-runs.ts';
import { noTrtexec } from '../../../cli/program.ts';
import { withStoreIfAny } from '../../../cli/with-store.ts';
import { prepare } from '../../plan/index.ts';
import { plannedSweep, gitStateOf } from '../../../run/planned-sweep.ts';
import { printResult, type Io } from '../../../cli/io.ts';
import { EXIT_CODES, type ExitCode } from '../../../errors.ts';
import type { SweepOptions } from '../command.ts';

type Group = SearchOutput['groups'][number];

type Point = Group['points'][number];

/** Prints the result; the exit code says whether every group has an answer and no point was lost. */
export function showFound(found: SearchRuns, of: Parameters<SearchRuns['output']>[0], options: SweepOptions, io: Io) {
  const output = found.output(of);
  printResult(io, options, output, searchText);
  const isAnswered = output.groups.every(
    ({ highest, isComplete, points }) =>
      isComplete && highest !== null && points.every(({ state }) => state !== 'lost'),
  );
  return isAnswered ? EXIT_CODES.fine : EXIT_CODES.incomplete;
}

function searchText(output: SearchOutput, look: Look): string[] {
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
  const measured = points.flatMap(({ at, runs, state }) => {
    if (state === 'notMeasured') return [];
    return state === 'lost' ? `${at} failed` : `${at} ${state === 'open' ? 'is open' : state} (${count(runs, 'run')})`;
  });
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

/** Shows what a search would measure and what is already known. Runs nothing. */
export async function showSearch(
  path: string,
  options: SweepOptions,
  io: Io,
  request: SearchRequest,
): Promise<ExitCode> {
  const { plan, program } = await prepare(path, options, 'models maybe later', io);
  const stated = { ...(await gitStateOf(options, io)), sweepId: '', startedAt: io.now().toISOString() };
  const sweep = plannedSweep(plan, program ?? noTrtexec(io), stated);
  return withStoreIfAny(options, io, (store) => {
    const db = store?.db ?? null;
    const wanted = wantedSearch(db, plan, sweep, null, request);
    showFound(
      new SearchRuns({ db, plan, search: wanted, sweep, recorded: () => Infinity }),
      { ...sweep, sweepId: null },
      options,
      io,
    );
    return EXIT_CODES.fine;
  });
}
