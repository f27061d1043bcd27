import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { EngineCache } from '../../../engines/engine-cache.ts';
import { BenchError, EnvironmentLackingError, InterruptedError, MatrixError, UsageError } from '../../../errors.ts';
import type { ExitCode } from '../../../exit-codes.ts';
import { recordedRuns } from '../../../trtexec/replay/check-plan.ts';
import { type CheckoutSource, CommitCheckout } from '../../../run/checkout/commit-checkout.ts';
import type { TrtexecProgram } from '../../../trtexec/program/trtexec-program.ts';
import type { Io } from '../../../cli/io.ts';
import { printable } from '../../../text/printable.ts';
import type { CellKey } from '../../../records/scalars.ts';
import type { Sweep } from '../../../records/sweep.ts';
import { type ModelsNeeded, prepare, type Prepared, type PrepareOptions } from '../../plan/index.ts';
import { commitText, type NamedCommit } from './commits.ts';

export type SideName = 'base' | 'head';

/** What one side is measured with. */
export interface SidePlan extends Pick<Prepared, 'matrix' | 'plan'> {
  readonly io: Io;
  readonly program: TrtexecProgram;
  /** Runs that it can have of a cell; infinite for a real trtexec. */
  readonly capacity: (cellKey: CellKey) => number;
}

/** One of two sides that are measured in turns. */
export interface TurnSide {
  /** Safe to print. */
  readonly text: string;
  readonly git: Pick<Sweep, 'commit' | 'dirty'>;
  /** @throws BenchError with all that is wrong with its matrix, model or trtexec */
  plan(options: PrepareOptions, models: ModelsNeeded): Promise<SidePlan>;
  /** @param shared folder of the engines that every side may load */
  cacheFor(plan: SidePlan, shared: string): EngineCache;
  /** Sets the machine up, before each build and run. */
  readonly beforeRun?: () => Promise<void>;
}

class NoMatrixError extends UsageError {}

/** A mistake in a commit, with the commit before each line. */
export class CommitError extends BenchError {
  override readonly name = 'CommitError';
  readonly exitCode: ExitCode;
  private readonly all: readonly string[];

  constructor(lines: readonly string[], cause: BenchError) {
    super(lines.join('\n'), { cause });
    this.all = lines;
    this.exitCode = cause.exitCode;
  }

  override get lines(): readonly string[] {
    return this.all;
  }

  /** What a build may make: a matrix, a file that one needs, trtexec. */
  get isForBuild(): boolean {
    const { cause } = this;
    return [NoMatrixError, MatrixError, EnvironmentLackingError].some((kind) => cause instanceof kind);
  }
}

/** One of the two commits: its worktree, and what it plans there. */
export class CommitSide implements TurnSide {
  readonly name: SideName;
  readonly named: NamedCommit;
  private readonly checkout: CommitCheckout;
  private readonly source: CheckoutSource;

  constructor(name: SideName, named: NamedCommit, source: CheckoutSource, io: Io) {
    this.name = name;
    this.named = named;
    this.source = source;
    this.checkout = new CommitCheckout(named.commit, source, io);
  }

  get text(): string {
    return commitText(this.named);
  }

  get git(): TurnSide['git'] {
    return { commit: this.named.commit, dirty: false };
  }

  /** @returns true when the commit has no matrix of its own: that of the working tree was copied */
  async add(): Promise<boolean> {
    return this.explained(async () => {
      await this.checkout.add();
      return (await this.checkout.matrix()).isCopied;
    });
  }

  async build(): Promise<void> {
    await this.explained(() => this.checkout.build());
  }

  /** @throws CommitError with all that is wrong with its matrix, model or trtexec */
  async plan(options: PrepareOptions, models: ModelsNeeded): Promise<SidePlan> {
    return this.explained(async () => {
      const { trtexec } = this.checkout;
      const placed = { ...options, ...(trtexec === null ? {} : { trtexec }) };
      const { path } = await this.checkout.matrix();
      if (!existsSync(path)) {
        throw new NoMatrixError(`${printable(this.source.matrix)} is neither in this commit nor in the working tree`);
      }
      const { matrix, plan, program, set } = await prepare(path, placed, models, this.checkout.there);
      if (program === null) throw new UsageError('there is no trtexec');
      const capacity = (key: CellKey): number => (set === null ? Infinity : recordedRuns(set, plan, key));
      return { io: this.checkout.there, matrix, plan, program, capacity };
    });
  }

  /** Engines of a trtexec that the commit has or built are for this commit alone. */
  cacheFor({ program }: SidePlan, shared: string): EngineCache {
    const isOwn = program.recordings === null && this.checkout.holds(program.file);
    return new EngineCache(isOwn ? join(ownEnginesOf(this.source.folder), this.named.commit.slice(0, 16)) : shared);
  }

  private async explained<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof BenchError) || error instanceof InterruptedError) throw error;
      const inWorktree = `${this.checkout.there.cwd}/`;
      const [first = '', ...others] = error.lines.map((line) => line.replaceAll(inWorktree, ''));
      const isLacking = error instanceof MatrixError && error.lines.some((line) => line.endsWith('no such file'));
      const [command] = this.source.command;
      const maker = command === undefined ? '--build CMD makes it there' : `${printable(command)} did not make it`;
      const hint = `what git does not have is not in a worktree: ${maker}`;
      const lines = [`${this.name} ${this.text}: ${first}`, ...others, ...(isLacking ? [hint] : [])];
      throw new CommitError(lines, error);
    }
  }
}

/** Engines that only one commit may load: its own program built them. */
export function ownEnginesOf(folder: string): string {
  return join(folder, 'engines');
}
