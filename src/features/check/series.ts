import type { Io } from '../../cli/io.ts';
import { UsageError } from '../../errors.ts';
import { ALERTING } from '../../judge/history/noise.ts';
import type { Sweep } from '../../records/sweep.ts';
import { nothingStored } from '../../selection/cell-histories.ts';
import { resolveSide } from '../../selection/sides.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { newestOfSeries, notCaptures, onOtherBranches, seriesUntil } from '../../store/sweeps/find-sweeps.ts';
import { gateOf } from '../../store/sweeps/sweeps.ts';
import { printable } from '../../text/printable.ts';
import { ancestors, branchHere, targetBranch } from '../../tools/git/git.ts';

export type Series = Awaited<ReturnType<typeof seriesAt>>;

export interface SeriesOptions {
  readonly asOf?: string | undefined;
  readonly branch?: string | undefined;
  readonly names?: readonly string[] | undefined;
}

/** The newest sweep of each series of the checked-out branch, newest first. @throws UsageError when there is none */
export async function newestSweeps(db: StoreDatabase, options: SeriesOptions, io: Io) {
  const { asOf, branch, names } = options;
  const until = /^\d{4}-\d\d-\d\d$/.test(asOf ?? '') ? `${asOf}T23:59:59.999Z` : null;
  if (asOf !== undefined && until === null) {
    const { note, sweeps } = await resolveSide(db, asOf, io, { branch });
    return { note, sweeps: sweeps.slice(0, 1) };
  }
  const all = newestOfSeries(db, until);
  const own = branch ?? (await branchHere(io.cwd, io.env));
  const ofOwn = all.filter((sweep) => sweep.branch === own);
  // If the branch has no sweeps, or no branch is checked out, take every series.
  const ofBranch =
    branch !== undefined ? ofOwn : ofOwn.length === 0 ? all : all.filter((sweep) => (sweep.branch ?? own) === own);
  const found = ofBranch.filter(({ matrix }) => names === undefined || names.includes(matrix ?? ''));
  if (found.length > 0) return { note: null, sweeps: notCaptures(db, found) };
  if (until !== null && newestOfSeries(db, null).some((sweep) => branch === undefined || sweep.branch === branch))
    throw new UsageError(`--as-of ${until.slice(0, 10)}: there was no sweep at that time`);
  if (names === undefined || ofBranch.length === 0) throw nothingStored(db, branch);
  throw new UsageError(`matrix ${printable(names.join(', '))}: no sweep of it is stored; see \`bench ls sweeps\``);
}

const STALE_MS = 30 * 86_400_000;

/** A series is not judged if its newest sweep is this much older than the newest of all series. */
export function isStale({ startedAt }: Sweep, newest: readonly Sweep[]): boolean {
  const latest = Math.max(...newest.map((sweep) => Date.parse(sweep.startedAt ?? '') || 0));
  return startedAt !== null && latest - Date.parse(startedAt) > STALE_MS;
}

/**
 * The series of a sweep, oldest first; the last one is judged. `matrices`: the current and former names of its matrix;
 * `baseBranch`: the branch against which a pull request is judged, null for a branch with its own history.
 */
export async function seriesAt(db: StoreDatabase, sweep: Sweep, io: Pick<Io, 'cwd' | 'env'>) {
  const matrices = [...new Set([sweep.matrix, gateOf(db, sweep.sweepId).renamedFrom ?? sweep.matrix])];
  const own = seriesUntil(db, sweep, ALERTING.windowSweeps, matrices);
  const others = sweep.branch === null ? [] : onOtherBranches(db, sweep, matrices);
  const isAlone = sweep.branch !== null && others.length === 0;
  const commits = new Set(sweep.commit === null || isAlone ? [] : await ancestors(io.cwd, sweep.commit));
  const isBefore = ({ commit }: Sweep): boolean => commit !== null && commits.has(commit);
  const baseBranch = baseBranchOf(own, others.filter(isBefore), targetBranch(io.env));
  const isWhole = sweep.branch !== null || commits.size === 0;
  const ofOwn = own.filter((one) => isWhole || one.commit === null || isBefore(one)).toReversed();
  const base = others.filter((one) => one.branch === baseBranch && isBefore(one)).slice(0, ALERTING.windowSweeps - 1);
  return { sweep, matrices, baseBranch, sweeps: baseBranch === null ? ofOwn : [...base.toReversed(), sweep] };
}

/** Names of main branches. A branch may have begun on one of them even if another was measured first. */
const MAIN_BRANCHES = ['main', 'master', 'trunk', 'develop'];

/** The branch from which this one began, if it was measured at ancestors of this one. */
function baseBranchOf(own: readonly Sweep[], others: readonly Sweep[], target: string | null): string | null {
  const [newest] = own;
  const branches = new Set(others.map(({ branch }) => branch));
  if (target !== null && target !== newest?.branch && branches.has(target)) return target;
  if (own.length >= ALERTING.firstSweep || MAIN_BRANCHES.includes(newest?.branch ?? '')) return null;
  const oldest = own.at(-1)?.startedAt ?? '';
  const elder = others.filter(({ startedAt }) => (startedAt ?? '') < oldest);
  return (elder.find(({ branch }) => MAIN_BRANCHES.includes(branch ?? '')) ?? elder[0])?.branch ?? null;
}
