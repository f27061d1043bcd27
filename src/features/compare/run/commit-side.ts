import { existsSync, realpathSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { Io } from '../../../cli/io.ts';
import { EngineCache } from '../../../engines/engine-cache.ts';
import { BenchError, IncompleteError, InterruptedError, MatrixError, UsageError, orNull } from '../../../errors.ts';
import { type ExitCode, EXIT_CODES, ProgramError } from '../../../errors.ts';
import { type ModelsNeeded, type PrepareOptions, type Prepared, prepare } from '../../plan/index.ts';
import type { Sweep } from '../../../records/sweep.ts';
import { isInside } from '../../../files/layout.ts';
import { runCommand } from '../../../run/run-command.ts';
import { splitRange } from '../../../selection/sides.ts';
import { printable } from '../../../text/printable.ts';
import { defined } from '../../../text/unknown-values.ts';
import { addWorktree, mergeBase, readGitState, repositoryFolder } from '../../../tools/git/git.ts';
import { resolveRevision, shallowHint } from '../../../tools/git/git.ts';
import type { TrtexecProgram } from '../../../trtexec/program/find-trtexec.ts';

export type SideName = 'base' | 'head';

/** What a side measures, and with which program. */
export interface SidePlan extends Pick<Prepared, 'matrix' | 'plan'> {
  readonly io: Io;
  readonly program: TrtexecProgram;
}

export function sidePlanOf({ matrix, plan, program }: Prepared, io: Io): SidePlan {
  if (program === null) throw new UsageError('trtexec not found');
  return { io, matrix, plan, program };
}

/** One of two sides that are measured in turns. */
export interface TurnSide {
  /** Safe to print. */
  readonly text: string;
  readonly git: Pick<Sweep, 'commit' | 'dirty'>;
  /** @throws BenchError with all mistakes in its matrix, model or trtexec */
  plan(options: PrepareOptions, models: ModelsNeeded): Promise<SidePlan>;
  /** @param shared folder of the engines that every side may load */
  cacheFor(plan: SidePlan, shared: string): EngineCache;
  /** Prepares the machine before each build and run. */
  readonly beforeRun?: () => Promise<void>;
}

/** A mistake in a commit. Each line starts with the commit. */
class CommitError extends ProgramError {
  readonly exitCode: ExitCode;

  constructor(lines: readonly string[], cause: BenchError, exitCode: ExitCode) {
    super(lines.join('\n'), { cause });
    this.exitCode = exitCode;
  }
}

interface CheckoutSource {
  /** Top folder of the user's checkout, without symbolic links. */
  readonly repository: string;
  /** Folder for worktrees and logs of the command. */
  readonly folder: string;
  /** Command that builds a commit, run in the worktree's counterpart of the current folder; empty for none. */
  readonly command: readonly string[];
  /** As the user named it. */
  readonly matrix: string;
  readonly trtexec: string | null;
}

/** One of the two commits, in a separate worktree, so that the checkout of the user stays unchanged. */
export class CommitSide implements TurnSide {
  readonly name: SideName;
  readonly named: NamedCommit;
  private readonly source: CheckoutSource;
  private readonly io: Io;
  private readonly worktree: string;
  private readonly short: string;

  constructor(name: SideName, named: NamedCommit, source: CheckoutSource, io: Io) {
    this.name = name;
    this.named = named;
    this.source = source;
    this.io = io;
    this.short = named.commit.slice(0, 16);
    this.worktree = join(worktreesOf(source.folder), this.short);
  }

  get text(): string {
    return commitText(this.named);
  }

  get git(): TurnSide['git'] {
    return { commit: this.named.commit, dirty: false };
  }

  /** Adds the worktree. @returns true if the commit has no matrix, and that of the working tree was copied */
  async add(): Promise<boolean> {
    return this.explained(async () => {
      const problem = await addWorktree(this.source.repository, this.worktree, this.named.commit);
      if (this.io.signal.aborted) throw new InterruptedError('interrupted');
      if (problem !== null) throw new IncompleteError(`git worktree: ${problem}`);
      const { cwd } = this.there;
      if (!existsSync(cwd)) {
        const inside = printable(relative(this.worktree, cwd));
        const isNeeded = this.source.command.length > 0;
        if (isNeeded) throw new IncompleteError(`the folder ${inside} is not in this commit`);
        await mkdir(cwd, { recursive: true });
      }
      return this.copyMatrix();
    });
  }

  private async copyMatrix(): Promise<boolean> {
    const [stated, own] = [resolve(this.io.cwd, this.source.matrix), this.placed(this.source.matrix)];
    if (existsSync(own) || !existsSync(stated)) return false;
    await mkdir(dirname(own), { recursive: true });
    await copyFile(stated, own);
    return true;
  }

  async build(): Promise<void> {
    const log = join(this.source.folder, 'logs', this.short);
    await this.explained(() => runCommand(this.source.command, this.there.cwd, log, this.io));
  }

  /** @throws CommitError with all mistakes in its matrix, model or trtexec */
  async plan(options: PrepareOptions, models: ModelsNeeded): Promise<SidePlan> {
    return this.explained(async () => {
      const { there, trtexec } = this;
      const path = this.placed(this.source.matrix);
      // The build may have removed it, as `git clean` does.
      await this.copyMatrix();
      if (!existsSync(path)) {
        throw new UsageError(`${printable(this.source.matrix)} is neither in this commit nor in the working tree`);
      }
      return sidePlanOf(await prepare(path, { ...options, ...defined({ trtexec }) }, models, there), there);
    });
  }

  /** If the commit contains or built trtexec, the cache of its engines belongs to this commit alone. */
  cacheFor({ program }: SidePlan, shared: string): EngineCache {
    const isOwn = program.recordings === null && isInside(this.worktree, program.file);
    return new EngineCache(isOwn ? join(ownEnginesOf(this.source.folder), this.short) : shared);
  }

  /** The Io of bench as if it was started in the worktree. */
  private get there(): Io {
    return { ...this.io, cwd: this.placed('.') };
  }

  /** trtexec in the repository: that of this commit, or the one built in its worktree. */
  private get trtexec(): string | undefined {
    const { trtexec } = this.source;
    if (trtexec === null) return undefined;
    const own = this.placed(trtexec);
    return existsSync(own) ? own : resolve(this.io.cwd, trtexec);
  }

  /** The counterpart in the worktree of a path in the checkout; another path stays. */
  private placed(path: string): string {
    const stated = resolve(this.io.cwd, path);
    const inside = pathInside(this.source.repository, stated);
    return inside === null ? stated : join(this.worktree, inside);
  }

  private async explained<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof BenchError) || error instanceof InterruptedError) throw error;
      const inWorktree = `${this.there.cwd}/`;
      const [first = '', ...others] = error.lines.map((line) => line.replaceAll(inWorktree, ''));
      const isLacking = error instanceof MatrixError && error.lines.some((line) => line.endsWith('file not found'));
      const [command] = this.source.command;
      const maker =
        command === undefined ? 'add --build CMD, which makes it there' : `${printable(command)} did not make it`;
      const hint = `a worktree contains only the files in git: ${maker}`;
      const lines = [`${this.name} ${this.text}: ${first}`, ...others, ...(isLacking ? [hint] : [])];
      // A broken trtexec of the commit itself is like a failing build.
      const isOwn = isInside(this.worktree, this.trtexec ?? '/') && error.exitCode === EXIT_CODES.environmentLacking;
      throw new CommitError(lines, error, isOwn ? EXIT_CODES.incomplete : error.exitCode);
    }
  }
}

/** Engines that only one commit may load, because its own trtexec built them. */
export function ownEnginesOf(folder: string): string {
  return join(folder, 'engines');
}

export interface NamedCommit {
  /** The revision as the user named it. Not safe to print. */
  readonly ref: string;
  readonly commit: string;
}

export interface TwoCommits {
  /** Top folder of the checkout. */
  readonly repository: string;
  readonly base: NamedCommit;
  readonly head: NamedCommit;
  /** True when head is the checkout with uncommitted changes. */
  readonly isDirty: boolean;
}

/**
 * `A..B`, `A...B` (from their merge base), `A B`, or `A` (against HEAD). Without names, HEAD against its parent.
 * @throws UsageError if these are not two commits
 */
export async function twoCommits(base: string | undefined, head: string | undefined, io: Io): Promise<TwoCommits> {
  const repository = await repositoryFolder(io.cwd);
  if (repository === null) {
    throw new UsageError('there is no git repository here, or no git: bench checks out two commits and measures them');
  }
  const range = base === undefined || head !== undefined ? null : splitRange(base);
  const from = range?.from ?? base ?? 'HEAD~1';
  const to = await namedCommit(range?.to ?? head ?? 'HEAD', io);
  const stated = await namedCommit(from, io).catch((error: unknown) => {
    if (base !== undefined) throw error;
    throw new UsageError(`${commitText(to)} has no parent: name two commits`);
  });
  const sides = { base: range?.symmetric === true ? await parted(stated, to, io) : stated, head: to };
  const { commit, dirty } = await readGitState(io.cwd);
  const isDirty = dirty === true && commit === to.commit;
  if (sides.base.commit === to.commit) {
    const advice = isDirty ? 'uncommitted changes are not measured: commit them first' : 'name two different commits';
    const names = from === to.ref ? printable(from) : `${printable(from)} and ${printable(to.ref)}`;
    throw new UsageError(`both sides are commit ${to.commit.slice(0, 8)} (${names}); ${advice}`);
  }
  return { repository, ...sides, isDirty };
}

/** Returns `main (1a2b3c4d)`. */
export function commitText({ ref, commit }: NamedCommit): string {
  const short = commit.slice(0, 8);
  return commit.startsWith(ref) ? short : `${printable(ref)} (${short})`;
}

async function namedCommit(ref: string, io: Io): Promise<NamedCommit> {
  const commit = await resolveRevision(io.cwd, ref);
  if (commit !== null) return { ref, commit };
  const hint = await shallowHint(io.cwd);
  throw new UsageError(`${printable(ref)}: not a git revision here${hint === null ? '' : `; ${hint}`}`);
}

async function parted(from: NamedCommit, to: NamedCommit, io: Io): Promise<NamedCommit> {
  const commit = await mergeBase(io.cwd, from.commit, to.commit);
  if (commit === null) throw new UsageError(`${printable(from.ref)}...${printable(to.ref)}: no common commit`);
  return { ref: from.ref, commit };
}

export function worktreesOf(folder: string): string {
  return join(folder, 'worktrees');
}

/** The path relative to the top folder of the checkout; null outside of it. */
export function pathInside(repository: string, path: string): string | null {
  // Resolves symbolic links of the folders; the file need not exist.
  const real = orNull(() => join(realpathSync(dirname(path)), relative(dirname(path), path))) ?? path;
  return isInside(repository, real) ? relative(repository, real) : null;
}
