import { UsageError } from '../errors.ts';
import { didYouMean } from '../text/nearest.ts';
import { printable } from '../text/printable.ts';
import { COMPARE_BRANCH, type GitState, type Provenance, type Sweep } from '../records/sweep.ts';
import { ancestors, ciBranch, mergeBase, readGitState, resolveRevision } from '../tools/git/git.ts';
import {
  baselineSweep,
  countEndedSweeps,
  measuredCommits,
  newestOfAnyBranch,
  newestOfBranch,
  seriesOf,
  sweepsAtCommit,
  sweepsById,
  sweepsNamed,
} from '../store/sweeps/find-sweeps.ts';
import { withFitRuns } from '../store/sweeps/swept-cells.ts';
import { count } from '../terminal/numbers.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { findSweepsByPrefix } from '../store/sweeps/sweeps.ts';
import type { Io } from '../cli/io.ts';
import { SHORTEST_ID } from './by-name.ts';
import { sweepInEnvironment } from './environment-side.ts';
import { nothingStored } from './cell-histories.ts';

export interface Side {
  readonly ref: string;
  readonly sweeps: readonly Sweep[];
  /** Note on a substitute; null when the requested sweep was found. */
  readonly note: string | null;
}

/** Neither the commit nor any ancestor has results. */
export class NotMeasuredError extends UsageError {}

interface Sides {
  readonly base: Side;
  readonly head: Side;
}

export interface SideOptions {
  /** May start before the store is opened, which takes equally long. */
  readonly git?: Promise<GitState>;
  /** The branch of `latest`; default: the checked-out branch, or that of the CI job. */
  readonly branch?: string | undefined;
}

/**
 * Resolves `BASE` and `HEAD`: a git revision, `a..b`, the ID or name of a sweep, `baseline:NAME` (or `NAME` if it is
 * unambiguous), `latest`, `latest~N`, or conditions: `trt=10.6`, `driver=580`, `container=tensorrt:25.10`, `gpu=H200`,
 * `host=node7`. Default: the last two sweeps of this branch.
 */
export async function resolveSides(
  db: StoreDatabase,
  base: string | undefined,
  head: string | undefined,
  io: Io,
  options: SideOptions = {},
): Promise<Sides> {
  refuseUnknownBranch(db, options);
  const resolver = new SideResolver(db, io, options);
  const sides = await alignMatrices(resolver, await sidesOf(resolver, base, head));
  refuseSharedSweep(sides, base !== undefined && head === undefined && splitRange(base) === null);
  return withNotes(sides);
}

/**
 * @param isBaseAlone true if head was not named
 * @throws UsageError when a sweep would be compared with itself
 */
export function refuseSharedSweep(
  sides: { readonly base: Omit<Side, 'ref'>; readonly head: Omit<Side, 'ref'> },
  isBaseAlone = false,
): void {
  const shared = sides.base.sweeps.find(({ sweepId }) => sides.head.sweeps.some((sweep) => sweep.sweepId === sweepId));
  if (shared === undefined) return;
  const advice = isBaseAlone
    ? 'one name is the base, its head is the newest sweep at or before the checked-out commit: name an earlier base, as in `bench compare HEAD~1`, or two sweeps'
    : 'name two sweeps';
  throw new UsageError(
    `both sides are sweep ${shared.sweepId.slice(0, 8)}, so there is no change to show: ${joined(sides.base.note, sides.head.note) ?? advice}`,
  );
}

function withNotes(sides: Sides): Sides {
  const note = joined(sides.head.note, undatedNote([...sides.base.sweeps, ...sides.head.sweeps]));
  // Print a note on both sides once.
  const base = sides.base.note === sides.head.note ? { ...sides.base, note: null } : sides.base;
  return { base, head: { ...sides.head, note } };
}

function joined(...notes: readonly (string | null)[]): string | null {
  return [...new Set(notes)].filter((note) => note !== null).join('; ') || null;
}

/** A note on sweeps without a date; null when there are none. */
export function undatedNote(sweeps: readonly Sweep[]): string | null {
  const undated = sweeps.filter(({ startedAt }) => startedAt === null).length;
  if (undated === 0) return null;
  const which = sweeps.length === 1 ? 'the sweep has' : `${undated} of ${sweeps.length} sweeps have`;
  return `${which} no date: their order is that of their import; bench import --date says when they were made`;
}

async function sidesOf(resolver: SideResolver, base?: string, head?: string): Promise<Sides> {
  if (base === undefined) return { base: await resolver.side('latest~1'), head: await resolver.side('latest') };
  const range = head === undefined ? splitRange(base) : null;
  if (range !== null) return resolver.range(range.from, range.to, range.symmetric);
  return {
    base: await resolver.side(base),
    head: await (head === undefined ? resolver.defaultHead() : resolver.side(head)),
  };
}

/**
 * A revision, `latest` or a branch may have sweeps of several matrices. If the newest sweeps of the two sides differ in
 * that, one side takes the matrix of the other.
 */
async function alignMatrices(resolver: SideResolver, sides: Sides): Promise<Sides> {
  const [base, head] = [sides.base.sweeps[0], sides.head.sweeps[0]];
  if (base === undefined || head === undefined || isComparable(base, head)) return sides;
  const otherBase = await resolver.sideLike(sides.base, head);
  if (otherBase !== null) return { base: otherBase, head: sides.head };
  const otherHead = await resolver.sideLike(sides.head, base);
  if (otherHead !== null) return { base: sides.base, head: otherHead };
  if (base.matrix === head.matrix) return sides;
  const names = [base, head].map(({ matrix, name }) => printable(matrix ?? name ?? 'no matrix'));
  const note = `two matrices, ${names.join(' and ')}: only cells that both have are compared`;
  return { base: sides.base, head: { ...sides.head, note: joined(sides.head.note, note) } };
}

function isComparable(a: Sweep, b: Sweep): boolean {
  return a.matrix === b.matrix && a.provenance === b.provenance && pairOf(a) === pairOf(b);
}

/** The common name of the two sweeps of `bench compare --run`; null for any other sweep. */
function pairOf({ branch, name }: Sweep): string | null {
  return branch === COMPARE_BRANCH ? name : null;
}

/** With both sides named, a branch has no effect, so that a misspelled one would go unnoticed. */
function refuseUnknownBranch(db: StoreDatabase, { branch }: SideOptions): void {
  if (branch !== undefined && newestOfBranch(db, branch, null) === null) {
    throw nothingStored(db, branch);
  }
}

export function resolveSide(db: StoreDatabase, ref: string, io: Io, options: SideOptions = {}): Promise<Side> {
  refuseUnknownBranch(db, options);
  return new SideResolver(db, io, options).side(ref);
}

export function splitRange(text: string): { from: string; to: string; symmetric: boolean } | null {
  const match = /^(.*?)(\.{2,3})(.*)$/.exec(text);
  if (match === null || text.startsWith('../') || text === '..') return null;
  return { from: match[1] || 'HEAD', to: match[3] || 'HEAD', symmetric: match[2] === '...' };
}

/** At most this many consecutive sweeps without a fit run are skipped. */
const MOST_SKIPPED = 400;

class SideResolver {
  private readonly db: StoreDatabase;
  private readonly io: Io;
  private readonly git: Promise<GitState>;
  private readonly branch: string | null;
  /** Sweeps of the same matrix and provenance come first. */
  private readonly like: Sweep | null;

  constructor(db: StoreDatabase, io: Io, options: SideOptions, like: Sweep | null = null) {
    this.db = db;
    this.io = io;
    this.git = options.git ?? readGitState(io.cwd);
    this.branch = options.branch ?? null;
    this.like = like;
  }

  /** The same side for the matrix and provenance of another sweep; null if it has none, or refers to a single sweep. */
  async sideLike({ ref }: Side, like: Sweep): Promise<Side | null> {
    const options = { git: this.git, branch: this.branch ?? undefined };
    const resolver = new SideResolver(this.db, this.io, options, like);
    const found = await resolver.side(ref).catch((error: unknown) => {
      if (error instanceof UsageError) return null;
      throw error;
    });
    if (found === null) return null;
    const isOther = found.sweeps.every((sweep) => isComparable(sweep, like) && sweep.sweepId !== like.sweepId);
    return isOther && found.sweeps.length > 0 ? found : null;
  }

  async range(from: string, to: string, symmetric: boolean) {
    const head = await this.side(to);
    if (!symmetric) return { base: await this.side(from), head };
    const [a, b] = await Promise.all([this.commit(from), this.commit(to)]);
    const parted = a === null || b === null ? null : await mergeBase(this.io.cwd, a, b);
    if (parted === null) throw new UsageError(`${printable(from)}...${printable(to)}: no common commit`);
    return { base: await this.side(parted), head };
  }

  async side(ref: string): Promise<Side> {
    if (ref.trim() === '') {
      throw new UsageError('the name of a sweep or commit is empty: is its variable set?');
    }
    const latest = /^latest(?:~(\d+))?$/.exec(ref);
    if (latest !== null) return this.latest(ref, Number(latest[1] ?? 0));
    if (ref.startsWith('baseline:')) return this.baseline(ref);
    const found = await this.sweepOrRevision(ref);
    const baseline = baselineSweep(this.db, ref);
    if (found === null && baseline === null) throw await this.unknown(ref);
    if (found === null) return this.baseline(`baseline:${ref}`);
    if (baseline === null || found.sweeps.some(({ sweepId }) => sweepId === baseline)) return found;
    const note = `${printable(ref)} is taken as a git revision or a sweep; the baseline is baseline:${printable(ref)}`;
    return { ...found, note: joined(found.note, note) };
  }

  private async sweepOrRevision(ref: string): Promise<Side | null> {
    const sweep = this.sweepOfIdOrName(ref) ?? sweepInEnvironment(this.db, ref, this.like, this.branch);
    if (sweep !== null) return { ref, sweeps: [sweep], note: null };
    const commit = await this.commit(ref);
    return commit === null ? null : this.atCommit(ref, commit);
  }

  /**
   * Default head: the newest results at or before the checked-out commit, else the newest ones; for a named branch its
   * newest.
   */
  async defaultHead(): Promise<Side> {
    const commit = this.branch === null ? await this.commit('HEAD') : null;
    if (commit !== null) {
      const found = await this.nearest('HEAD', commit);
      if (found !== null) return found;
    }
    return this.latest('latest', 0);
  }

  private async latest(ref: string, back: number): Promise<Side> {
    const { newest, note } = await this.newestOfSeries();
    const all = seriesOf(this.db, newest, back + 1 + MOST_SKIPPED);
    const ids = all.map(({ sweepId }) => sweepId);
    const fit = withFitRuns(this.db, ids);
    // If no sweep has a result, all are equally good.
    const series = fit.size === 0 ? all : all.filter(({ sweepId }) => fit.has(sweepId));
    const chosen = series[back];
    if (chosen === undefined) {
      throw new UsageError(
        `${ref}: there ${series.length === 1 ? 'is only one sweep' : `are only ${series.length} sweeps`} of ${newest.branch === null ? 'this branch' : `branch ${printable(newest.branch)}`}, matrix and provenance; run one more, or name what to compare`,
      );
    }
    const skipped = ids.indexOf(chosen.sweepId) - back;
    const skips = skipped === 0 ? null : `latest skips ${count(skipped, 'sweep')} without a fit run`;
    return { ref, sweeps: [chosen], note: joined(note, skips) };
  }

  /**
   * The newest sweep of the series. Without a branch, such as on a detached head or with a copied store, the newest
   * sweep of all decides.
   */
  private async newestOfSeries(): Promise<{ newest: Sweep; note: string | null }> {
    const branch = this.branch ?? (await this.git).branch ?? ciBranch(this.io.env);
    if (branch === null) {
      const newest = newestOfAnyBranch(this.db, this.like);
      if (newest === null) throw nothingStored(this.db);
      const taken = newest.branch === null ? null : printable(newest.branch);
      const note = `no branch is checked out here: taking ${taken}, of which the newest sweep is; --branch takes another`;
      return { newest, note: taken === null ? null : note };
    }
    const newest =
      newestOfBranch(this.db, branch, this.like) ??
      (this.branch === null ? newestOfBranch(this.db, null, this.like) : null);
    if (newest === null) throw nothingStored(this.db, branch);
    return { newest, note: null };
  }

  private baseline(ref: string): Side {
    const sweepId = baselineSweep(this.db, ref.slice('baseline:'.length));
    const sweeps = sweepId === null ? [] : sweepsById(this.db, [sweepId]);
    if (sweeps.length === 0) {
      throw new UsageError(`${printable(ref)}: baseline not found; see \`bench ls baselines\``);
    }
    return { ref, sweeps, note: null };
  }

  private sweepOfIdOrName(ref: string): Sweep | null {
    const named = sweepsNamed(this.db, ref)[0];
    if (named !== undefined) return named;
    const found = ref.length < SHORTEST_ID ? [] : findSweepsByPrefix(this.db, ref);
    if (found.length > 1) {
      throw new UsageError(`${printable(ref)} is the start of ${found.length} sweeps: write more of it`);
    }
    return found[0] ?? null;
  }

  private async atCommit(ref: string, commit: string): Promise<Side> {
    const found = await this.nearest(ref, commit);
    if (found !== null) return found;
    throw countEndedSweeps(this.db) === 0
      ? nothingStored(this.db)
      : new NotMeasuredError(
          `${printable(ref)} (${commit.slice(0, 8)}): neither it nor any commit before it was measured; see \`bench ls sweeps\``,
        );
  }

  /** The results of a commit, or of its nearest ancestor with results. */
  private async nearest(ref: string, commit: string): Promise<Side | null> {
    const here = together(sweepsAtCommit(this.db, commit), this.like);
    if (here.length > 0) return { ref, sweeps: here, note: dirtyNote(ref, here) };
    const measured = measuredCommits(this.db);
    const line = measured.size === 0 ? [] : await ancestors(this.io.cwd, commit);
    const back = line.findIndex((ancestor) => measured.has(ancestor));
    const ancestor = line[back];
    if (ancestor === undefined) return null;
    const sweeps = together(sweepsAtCommit(this.db, ancestor), this.like);
    const distance = back === 1 ? 'the commit before it' : `${back} commits before it`;
    return {
      ref,
      sweeps,
      note: `${printable(ref)} (${commit.slice(0, 8)}) was not measured: taking ${ancestor.slice(0, 8)}, ${distance}`,
    };
  }

  private commit(ref: string): Promise<string | null> {
    return resolveRevision(this.io.cwd, ref);
  }

  private async unknown(ref: string): Promise<UsageError> {
    if (countEndedSweeps(this.db) === 0) return nothingStored(this.db);
    const [, later = ''] = /^(.+?)(?:[~^]\d*)+$/.exec(ref) ?? [];
    const isTooFar = (await this.commit(later)) !== null;
    const why = isTooFar ? ` (no commit here is that far before ${printable(later)})` : '';
    const hint = isTooFar
      ? ''
      : didYouMean(ref, ['latest', 'latest~1', ...((await this.commit('HEAD')) === null ? [] : ['HEAD', 'HEAD~1'])]);
    return new UsageError(
      `${printable(ref)}: neither a git revision here${why}, nor a sweep (see \`bench ls sweeps\`), latest, latest~N, baseline:NAME or trt=VERSION${hint}`,
    );
  }
}

/**
 * Sweeps at one commit to pool with the newest: same matrix, provenance and TensorRT. Runs of a modified tree count
 * only if there are no others.
 */
function together(sweeps: readonly Sweep[], like: Sweep | null): Sweep[] {
  const wanted = like === null ? [] : sweeps.filter((sweep) => isComparable(sweep, like));
  const all = wanted.length > 0 ? wanted : sweeps;
  const clean = all.filter(({ dirty }) => dirty !== true);
  const candidates = clean.length > 0 ? clean : all;
  const [newest] = candidates;
  if (newest === undefined) return [];
  return candidates.filter(
    (sweep) =>
      isComparable(sweep, newest) &&
      sweep.tensorrt === newest.tensorrt &&
      sweep.recordingSet === newest.recordingSet &&
      (sweep.dirty !== true || newest.dirty === true),
  );
}

function dirtyNote(ref: string, sweeps: readonly Sweep[]): string | null {
  return sweeps.every(({ dirty }) => dirty === true)
    ? `${printable(ref)}: measured only with uncommitted changes`
    : null;
}

export function provenancesOf(side: Side): Set<Provenance> {
  return new Set(side.sweeps.map(({ provenance }) => provenance));
}

/**
 * Sweeps by the start of an ID, or by a reference as for `compare`: `latest`, `latest~N`, `HEAD~N`, `baseline:NAME`.
 */
export async function sweepsOfName(db: StoreDatabase, name: string, io: Io): Promise<readonly Sweep[]> {
  return /^latest(?:~\d+)?$|^HEAD(?:[~^]\d*)*$|^baseline:/.test(name)
    ? (await resolveSide(db, name, io)).sweeps.slice(0, 1)
    : [...findSweepsByPrefix(db, name), ...sweepsNamed(db, name)];
}
