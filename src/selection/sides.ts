import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import { UsageError } from '../errors.ts';
import { didYouMean } from '../text/nearest.ts';
import { printable } from '../text/printable.ts';
import { COMPARE_BRANCH, OFF_BRANCHES, type Provenance, type Sweep } from '../records/sweep.ts';
import { ancestors, branchHere, mergeBase, resolveRevision, shallowHint } from '../tools/git/git.ts';
import {
  baselineSweep,
  countFinishedSweeps,
  measuredCommits,
  newestDone,
  newestOfBranch,
  sweepsOfBranch,
  sweepsAtCommit,
  sweepsById,
  sweepsNamed,
} from '../store/sweeps/find-sweeps.ts';
import { withFitRuns } from '../store/sweeps/swept-cells.ts';
import { count } from '../terminal/numbers.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { findSweepsByPrefix } from '../store/sweeps/sweeps.ts';
import type { Io } from '../cli/io.ts';
import { onlyOne } from './by-name.ts';
import { nothingStored } from './cell-histories.ts';
import type { Environment } from '../records/environment.ts';
import { sweepEnvironments } from '../store/sweeps/environments.ts';

export interface Side {
  readonly ref: string;
  readonly sweeps: readonly Sweep[];
  /** Note on a substitute; null when the requested sweep was found. */
  readonly note: string | null;
}

/** Neither the commit nor any ancestor has results. */
export class NotMeasuredError extends UsageError {}

export interface Sides {
  readonly base: Side;
  readonly head: Side;
}

export interface SideOptions {
  /** The branch of `latest`; default: the checked-out branch, or that of the CI job. */
  readonly branch?: string | undefined;
}

/** What decides to which sweeps a name refers. */
type Context = Omit<ReturnType<typeof contextOf>, 'like'> & { readonly like: Sweep | null };

/**
 * With both sides named, a branch has no effect, so that a misspelled one would go unnoticed. Sweeps of the matrix and
 * provenance of `like` come first.
 */
function contextOf(db: StoreDatabase, io: Io, { branch }: SideOptions) {
  if (branch !== undefined && newestOfBranch(db, branch) === null) throw nothingStored(db, branch);
  return { db, io, branch, like: null, skipsUnfit: true };
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
  const context = contextOf(db, io, options);
  const sides = await alignMatrices(context, await sidesOf(context, base, head));
  refuseSharedSweep(sides);
  const note = joined(sides.head.note, undatedNote([...sides.base.sweeps, ...sides.head.sweeps]));
  // Print a note on both sides once.
  const ofBase = sides.base.note === sides.head.note ? { ...sides.base, note: null } : sides.base;
  return { base: ofBase, head: { ...sides.head, note } };
}

export async function resolveSide(db: StoreDatabase, ref: string, io: Io, options: SideOptions = {}): Promise<Side> {
  return sideAt(contextOf(db, io, options), ref);
}

/** @throws UsageError when a sweep would be compared with itself */
export function refuseSharedSweep(sides: Sides): void {
  const shared = sides.base.sweeps.find(({ sweepId }) => sides.head.sweeps.some((sweep) => sweep.sweepId === sweepId));
  if (shared === undefined) return;
  const notes = joined(sides.base.note, sides.head.note);
  const next = 'name two sweeps, or an earlier base, such as latest~1';
  const why = notes === null ? next : `${notes}; measure it (bench run, or --run), or ${next}`;
  throw new UsageError(`both sides are sweep ${shared.sweepId.slice(0, 8)}, so there is no change to show: ${why}`);
}

function joined(...notes: readonly (string | null)[]): string | null {
  return [...new Set(notes)].filter((note) => note !== null).join('; ') || null;
}

/** A note on sweeps without a date; null when there are none. */
export function undatedNote(sweeps: readonly Sweep[]): string | null {
  const undated = sweeps.filter(({ startedAt }) => startedAt === null).length;
  if (undated === 0) return null;
  const which = `${undated} of ${sweeps.length} sweeps have no date`;
  return `${which}: their order is that of their import; bench import --date says when they were made`;
}

async function sidesOf(context: Context, base?: string, head?: string): Promise<Sides> {
  if (base === undefined) return { base: await sideAt(context, 'latest~1'), head: await sideAt(context, 'latest') };
  const range = head === undefined ? splitRange(base) : null;
  if (range === null) {
    const to = head === undefined ? defaultHead(context) : sideAt(context, head);
    // The await below throws the error.
    to.catch(() => {});
    return { base: await sideAt(context, base), head: await to };
  }
  const { from, to, symmetric } = range;
  const newer = await sideAt(context, to);
  if (!symmetric) return { base: await sideAt(context, from), head: newer };
  const { cwd } = context.io;
  const [a, b] = await Promise.all([resolveRevision(cwd, from), resolveRevision(cwd, to)]);
  const parted = a === null || b === null ? null : await mergeBase(cwd, a, b);
  if (parted === null) throw new UsageError(`${printable(from)}...${printable(to)}: no common commit`);
  return { base: { ...(await sideAt(context, parted)), ref: parted.slice(0, 8) }, head: newer };
}

/**
 * A revision, `latest` or a branch may have sweeps of several matrices. If the newest sweeps of the two sides differ in
 * that, one side takes the matrix of the other.
 */
async function alignMatrices(context: Context, sides: Sides): Promise<Sides> {
  const [base, head] = [sides.base.sweeps[0], sides.head.sweeps[0]];
  if (base === undefined || head === undefined || isComparable(base, head)) return sides;
  const otherBase = await sideLike(context, sides.base, head);
  if (otherBase !== null) return { base: otherBase, head: sides.head };
  const otherHead = await sideLike(context, sides.head, base);
  if (otherHead !== null) return { base: sides.base, head: otherHead };
  if (base.matrix === head.matrix) return sides;
  const names = [base, head].map(({ matrix, name }) => printable(matrix ?? name ?? 'no matrix'));
  const note = `two matrices, ${names.join(' and ')}: only cells that both have are compared`;
  return { base: sides.base, head: { ...sides.head, note: joined(sides.head.note, note) } };
}

/** The same side for the matrix and provenance of another sweep; null if it has none, or refers to a single sweep. */
async function sideLike(context: Context, { ref }: Side, like: Sweep): Promise<Side | null> {
  const found = await sideAt({ ...context, like }, ref).catch((error: unknown) => {
    if (error instanceof UsageError) return null;
    throw error;
  });
  const isOther = found?.sweeps.every((sweep) => isComparable(sweep, like) && sweep.sweepId !== like.sweepId);
  return isOther === true && found !== null && found.sweeps.length > 0 ? found : null;
}

/** The two sweeps of `bench compare --run` have a common name. */
function isComparable(a: Sweep, b: Sweep): boolean {
  const [pair, other] = [a, b].map(({ branch, name }) => (branch === COMPARE_BRANCH ? name : null));
  return a.matrix === b.matrix && a.provenance === b.provenance && pair === other;
}

export function splitRange(text: string): { from: string; to: string; symmetric: boolean } | null {
  const match = /^(.*?)(\.{2,3})(.*)$/.exec(text);
  if (match === null || text.startsWith('../') || text === '..') return null;
  return { from: match[1] || 'HEAD', to: match[3] || 'HEAD', symmetric: match[2] === '...' };
}

/** At most this many consecutive sweeps without a fit run are skipped. */
const MOST_SKIPPED = 400;

async function sideAt(context: Context, ref: string): Promise<Side> {
  if (ref.trim() === '') throw new UsageError('the name of a sweep or commit is empty: is its variable set?');
  const latest = /^latest(?:~(\d+))?$/.exec(ref);
  if (latest !== null) return latestSide(context, ref, Number(latest[1] ?? 0));
  if (ref.startsWith('baseline:')) return baselineSide(context, ref);
  const found = await sweepOrRevision(context, ref);
  const baseline = baselineSweep(context.db, ref);
  if (found === null && baseline === null) throw await unknownName(context, ref);
  if (found === null) return baselineSide(context, `baseline:${ref}`);
  if (baseline === null || found.sweeps.some(({ sweepId }) => sweepId === baseline)) return found;
  const note = `${printable(ref)} is taken as a git revision or a sweep; the baseline is baseline:${printable(ref)}`;
  return { ...found, note: joined(found.note, note) };
}

async function sweepOrRevision(context: Context, ref: string): Promise<Side | null> {
  const { branch, db, io, like } = context;
  const named = sweepsNamed(db, ref)[0] ?? onlyOne(ref, findSweepsByPrefix(db, ref), 'sweeps');
  const sweep = named ?? sweepInEnvironment(db, ref, like, branch ?? null);
  if (sweep !== null) return { ref, sweeps: [sweep], note: null };
  const commit = (await resolveRevision(io.cwd, ref)) ?? storedCommit(db, ref);
  if (commit === null) return null;
  const found = await nearest(context, ref, commit);
  if (found !== null) return found;
  if (countFinishedSweeps(db) === 0) throw nothingStored(db);
  const why = joined(await shallowHint(io.cwd), 'see `bench ls sweeps`');
  throw new NotMeasuredError(
    `${printable(ref)} (${commit.slice(0, 8)}): neither it nor any commit before it was measured; ${why}`,
  );
}

/**
 * Default head: the newest results at or before the checked-out commit, else the newest ones; for a named branch its
 * newest.
 */
async function defaultHead(context: Context): Promise<Side> {
  const commit = context.branch === undefined ? await resolveRevision(context.io.cwd, 'HEAD') : null;
  const found = commit === null ? null : await nearest(context, 'HEAD', commit);
  return found ?? latestSide(context, 'latest', 0);
}

async function latestSide(context: Context, ref: string, back: number): Promise<Side> {
  const { newest, note } = await newestOfSeries(context);
  const all = sweepsOfBranch(context.db, newest.branch, newest, back + 1 + MOST_SKIPPED);
  const ids = all.map(({ sweepId }) => sweepId);
  const fit = context.skipsUnfit ? withFitRuns(context.db, ids) : new Set();
  // If no sweep has a result, all are equally good.
  const series = fit.size === 0 ? all : all.filter(({ sweepId }) => fit.has(sweepId));
  const chosen = series[back];
  const skipped = chosen === undefined ? all.length - series.length : ids.indexOf(chosen.sweepId) - back;
  const skips = skipped === 0 ? null : `latest skips ${count(skipped, 'sweep')} without a fit run`;
  if (chosen === undefined) {
    const there = `only ${count(series.length, 'sweep')} of ${printable(newest.branch ?? 'this branch')}, matrix and provenance`;
    throw new UsageError(`${ref}: ${joined(there, skips)}; name what to compare, or measure again`);
  }
  return { ref, sweeps: [chosen], note: joined(note, skips) };
}

/**
 * The newest sweep of the series. Without a branch, such as on a detached head or with a copied store, the newest sweep
 * of all decides.
 */
async function newestOfSeries({ branch: asked, db, io, like }: Context) {
  const branch = asked ?? (await branchHere(io.cwd, io.env));
  const newest =
    branch === null
      ? newestDone(db, like, null)
      : (newestOfBranch(db, branch, like) ?? (asked === undefined ? newestOfBranch(db, null, like) : null));
  if (newest === null) throw nothingStored(db, branch);
  const isTaken = branch === null && newest.branch !== null;
  const note = `no branch is checked out here: taking ${printable(newest.branch ?? '')}, of which the newest sweep is; --branch takes another`;
  return { newest, note: isTaken ? note : null };
}

function baselineSide({ db }: Context, ref: string): Side {
  const sweeps = sweepsById(db, [baselineSweep(db, ref.slice('baseline:'.length)) ?? '']);
  if (sweeps.length > 0) return { ref, sweeps, note: null };
  throw new UsageError(`${printable(ref)}: baseline not found; see \`bench ls baselines\``);
}

/** A measured commit that git does not know, as in a shallow clone or next to a copied store. */
function storedCommit(db: StoreDatabase, ref: string): string | null {
  const commits = [...measuredCommits(db)].filter((commit) => ref.length >= 4 && commit.startsWith(ref));
  return onlyOne(ref, commits, 'commits');
}

/** The results of a commit, or of its nearest ancestor with results. */
async function nearest({ db, io, like }: Context, ref: string, commit: string): Promise<Side | null> {
  const here = together(sweepsAtCommit(db, commit), like);
  const dirty = `${printable(ref)}: measured only with uncommitted changes`;
  if (here.length > 0) return { ref, sweeps: here, note: here.every((sweep) => sweep.dirty === true) ? dirty : null };
  const measured = measuredCommits(db);
  const line = measured.size === 0 ? [] : await ancestors(io.cwd, commit);
  const back = line.findIndex((ancestor) => measured.has(ancestor));
  const ancestor = line[back];
  if (ancestor === undefined) return null;
  const distance = back === 1 ? 'the commit before it' : `${back} commits before it`;
  const note = `${printable(ref)} (${commit.slice(0, 8)}) was not measured: taking ${ancestor.slice(0, 8)}, ${distance}`;
  return { ref, sweeps: together(sweepsAtCommit(db, ancestor), like), note };
}

async function unknownName({ db, io }: Context, ref: string): Promise<UsageError> {
  if (countFinishedSweeps(db) === 0) return nothingStored(db);
  const why = await shallowHint(io.cwd);
  const hint = existsSync(resolve(io.cwd, ref))
    ? '; a path goes only with another path'
    : didYouMean(ref, ['latest', 'latest~1']);
  return new UsageError(
    `${printable(ref)}: neither a git revision here${why === null ? '' : ` (${why})`}, nor a sweep (see \`bench ls sweeps\`), latest, latest~N, baseline:NAME or trt=VERSION${hint}`,
  );
}

/**
 * Sweeps at one commit to pool with the newest: same matrix, provenance and TensorRT. Runs of a modified tree count
 * only if there are no others, and so do those of `compare --run` and of a bisection, which may measure few cells.
 */
function together(found: readonly Sweep[], like: Sweep | null): Sweep[] {
  const wanted = like === null ? [] : found.filter((sweep) => isComparable(sweep, like));
  const ofHistory = found.filter(({ branch }) => !OFF_BRANCHES.includes(branch));
  const all = [wanted, ofHistory].find(({ length }) => length > 0) ?? found;
  const clean = all.filter(({ dirty }) => dirty !== true);
  const candidates = clean.length > 0 ? clean : all;
  const [newest] = candidates;
  return candidates.filter(
    (sweep) =>
      newest !== undefined &&
      isComparable(sweep, newest) &&
      sweep.tensorrt === newest.tensorrt &&
      sweep.recordingSet === newest.recordingSet,
  );
}

export function provenancesOf(side: Side): Set<Provenance> {
  return new Set(side.sweeps.map(({ provenance }) => provenance));
}

/**
 * Sweeps by the start of an ID, or by a reference as for `compare`: `latest`, `latest~N`, `HEAD~N`, `baseline:NAME`.
 * Unlike there, a sweep without a fit run is not skipped.
 */
export async function sweepsOfName(db: StoreDatabase, name: string, io: Io): Promise<readonly Sweep[]> {
  return /^latest(?:~\d+)?$|^HEAD(?:[~^]\d*)*$|^baseline:/.test(name)
    ? (await sideAt({ ...contextOf(db, io, {}), skipsUnfit: false }, name)).sweeps.slice(0, 1)
    : [...findSweepsByPrefix(db, name), ...sweepsNamed(db, name)];
}

const FIELDS = {
  trt: 'tensorrt',
  driver: 'driver',
  cuda: 'cuda',
  container: 'container',
  gpu: 'gpuName',
  host: 'host',
} as const satisfies Readonly<Record<string, keyof Environment>>;

const WORD = new RegExp(`^(${Object.keys(FIELDS).join('|')})=(.+)$`);

const VERSIONS: readonly string[] = ['trt', 'driver', 'cuda'];

/**
 * Reads `trt=10.6` or `driver=580,gpu=H200`, conditions on all runs of a sweep. A version matches to the given number
 * of parts; another name, or the UUID of a GPU, matches a part of the value, ignoring case.
 * @returns null for any other text
 */
function conditionsOf(ref: string) {
  const conditions = ref.split(',').map((part) => {
    const [, word = '', value = ''] = WORD.exec(part.trim()) ?? [];
    const matches = (stored: string): boolean =>
      VERSIONS.includes(word)
        ? `${stored}.`.startsWith(`${value}.`)
        : stored.toLowerCase().includes(value.toLowerCase());
    const [, field] = Object.entries(FIELDS).find(([name]) => name === word) ?? [];
    const isUuid = field === 'gpuName' && /^GPU-/i.test(value);
    return field === undefined ? null : { field: isUuid ? ('gpuUuid' as const) : field, matches };
  });
  const known = conditions.filter((condition) => condition !== null);
  return known.length === conditions.length ? known : null;
}

/**
 * The newest finished sweep whose runs all meet the conditions.
 * @param like prefers its matrix and provenance
 * @param branch null for any
 * @returns null if the text names no environment
 * @throws UsageError if no sweep meets the conditions
 */
function sweepInEnvironment(db: StoreDatabase, ref: string, like: Sweep | null, branch: string | null) {
  const conditions = conditionsOf(ref);
  if (conditions === null) return null;
  const isThere = ({ sweepId }: Sweep): boolean => {
    const environments = sweepEnvironments(db, sweepId);
    return conditions.every(({ field, matches }) => {
      // A run that ended early may lack the field.
      const known = environments.flatMap((environment) => environment[field] ?? []);
      return known.length > 0 && known.every((value) => matches(String(value)));
    });
  };
  const found = newestDone(db, like, branch, isThere);
  if (found !== null) return found;
  throw new UsageError(`${printable(ref)}: no finished sweep was measured there; see \`bench ls machines\``);
}
