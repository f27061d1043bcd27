import { existsSync } from 'node:fs';
import { gitStateOf } from '../../../cli/git-state.ts';
import { type Io, printResult } from '../../../cli/io.ts';
import { noTrtexec } from '../../../cli/program.ts';
import { storePath } from '../../../cli/store-location.ts';
import { withStore } from '../../../cli/with-store.ts';
import { UsageError } from '../../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../../exit-codes.ts';
import { prepare } from '../../plan/index.ts';
import type { SweepOptions } from '../command.ts';
import { searchOutput, searchText } from './search-report.ts';
import { SearchRuns, searchGroups } from './search-runs.ts';
import { type LatencySearch, SEARCH_AXES } from '../../../judge/latency-search.ts';
import { PAST_WINDOW_SWEEPS } from '../../../judge/run-noise.ts';
import type { Machine } from '../../../machine/machine.ts';
import type { Plan } from '../../../records/plan.ts';
import type { Sweep } from '../../../records/sweep.ts';
import { plannedSweep } from '../../../run/planned-sweep.ts';
import type { StoreDatabase } from '../../../store/file/open.ts';
import { environmentsOf } from '../../../store/sweeps/environments.ts';
import { seriesOf } from '../../../store/sweeps/find-sweeps.ts';
import { unfinishedSweeps } from '../../../store/sweeps/sweeps.ts';
import { printable } from '../../../text/printable.ts';

/** The request of `bench choose --search`. */
export interface SearchRequest extends Omit<LatencySearch, 'axis' | 'knownSweepIds' | 'maxRepeats'> {
  /** Null: the batch, else the streams, whichever the matrix varies. */
  readonly axis: LatencySearch['axis'] | null;
  /** Null for the repeats of the matrix. */
  readonly maxRepeats: number | null;
}

/** A matrix may request a single run, which is not enough for an answer. */
const LEAST_REPEATS = 3;

/**
 * @param db null when there is no store yet
 * @param machines null when nothing will run
 */
export function wantedSearch(
  db: StoreDatabase | null,
  plan: Plan,
  sweep: Sweep,
  machines: readonly Machine[] | null,
  { maxRepeats, ...request }: SearchRequest,
): LatencySearch {
  return {
    ...request,
    axis: axisOf(plan, request.axis),
    maxRepeats: maxRepeats ?? Math.max(LEAST_REPEATS, plan.repeats),
    knownSweepIds: db === null ? [] : knownSweeps(db, sweep, machines),
  };
}

/** @throws UsageError when no cells differ only in the axis */
function axisOf(plan: Plan, asked: LatencySearch['axis'] | null): LatencySearch['axis'] {
  const axes = asked === null ? SEARCH_AXES : [asked];
  const found = axes.find((axis) => searchGroups(plan, { axis }).some(({ length }) => length > 1));
  if (found !== undefined) return found;
  throw new UsageError(
    `nothing to search in ${printable(plan.matrix)}: no two of its cells differ only in ${axes.join(' or ')}`,
  );
}

/**
 * Sweeps of the series, including interrupted ones, whose runs are equivalent to new ones: same commit, TensorRT, host
 * and GPU.
 */
function knownSweeps(db: StoreDatabase, sweep: Sweep, machines: readonly Machine[] | null): string[] {
  if (sweep.dirty === true) return [];
  const uuids = new Set(machines?.flatMap(({ device }) => device?.uuid ?? []));
  const isHere = ({ sweepId }: Sweep): boolean =>
    uuids.size === 0 || environmentsOf(db, sweepId).every(({ gpuUuid }) => gpuUuid === null || uuids.has(gpuUuid));
  const unfinished = unfinishedSweeps(db).filter(({ sweepId }) => sweepId !== sweep.sweepId);
  return [...unfinished, ...seriesOf(db, sweep, PAST_WINDOW_SWEEPS)]
    .filter(
      (other) =>
        other.dirty !== true &&
        (['matrix', 'branch', 'provenance', 'commit', 'tensorrt', 'host', 'recordingSet', 'trtexec'] as const).every(
          (of) => other[of] === sweep[of],
        ) &&
        isHere(other),
    )
    .map(({ sweepId }) => sweepId)
    .toReversed();
}

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
    const search = wantedSearch(db, plan, sweep, null, request);
    const runs = new SearchRuns({ db, plan, search, sweep, recorded: null });
    const output = searchOutput(runs, { ...sweep, sweepId: null });
    printResult(io, options, output, searchText);
    return EXIT_CODES.fine;
  };
  return existsSync(storePath(options.db, io)) ? withStore(options, io, ({ db }) => show(db)) : show(null);
}
