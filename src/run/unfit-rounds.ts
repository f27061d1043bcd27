import type { UnfitReason } from '../records/outcome.ts';
import type { CellKey } from '../records/scalars.ts';
import type { RunRecord } from '../records/run.ts';

/** A whole round of runs that the machine disturbed, or that trtexec started with other options than requested. */
export interface UnfitRound {
  readonly reason: SharedReason;
  /** Consecutive runs over all GPUs. */
  readonly runs: number;
  readonly cells: number;
  /** Evidence of the last run; null if there is none. */
  readonly evidence: string | null;
}

/** Reasons that do not depend on the cell, so that the next run will also have them. */
export const SHARED_REASONS = ['contended', 'throttled', 'optionsDiffer'] as const satisfies readonly UnfitReason[];

type SharedReason = (typeof SHARED_REASONS)[number];

/** Fewer runs or cells do not show a problem of the machine. */
const LEAST = { runs: 5, cells: 3 };

type EndedRun = Pick<RunRecord, 'flags' | 'outcome' | 'role'>;

/**
 * Counts consecutive unfit runs. A run that failed or did not start says nothing about the machine. It does not count
 * and does not interrupt the sequence, and the round does not need its cell.
 */
export class UnfitRounds {
  private cells: ReadonlySet<CellKey> = new Set();
  private readonly silent = new Set<CellKey>();
  /** The reason of the last runs, and the cell of each. */
  private row: (UnfitReasonOfRun & { readonly runs: readonly CellKey[] }) | null = null;

  /** @param cellKeys cells of the next runs, all of which a round includes */
  begin(cellKeys: Iterable<CellKey>): void {
    this.cells = new Set(cellKeys);
  }

  skip(cellKey: CellKey): void {
    this.silent.add(cellKey);
  }

  /** @returns the round that this run completes, if all its runs are unfit for one reason */
  take(cellKey: CellKey, run: EndedRun): UnfitRound | null {
    if (run.role !== 'timed') return null;
    if (run.outcome.kind === 'failed') this.skip(cellKey);
    else {
      this.silent.delete(cellKey);
      const found = sharedReason(run);
      const before = this.row !== null && this.row.reason === found?.reason ? this.row.runs : [];
      this.row = found && { ...found, runs: [...before, cellKey] };
    }
    if (this.row === null) return null;
    const { runs } = this.row;
    const cells = new Set(runs);
    const isWhole = [...this.cells].every((key) => cells.has(key) || this.silent.has(key));
    const isLong = runs.length >= LEAST.runs && cells.size >= LEAST.cells;
    return isWhole && isLong ? { ...this.row, runs: runs.length, cells: cells.size } : null;
  }
}

type UnfitReasonOfRun = Pick<UnfitRound, 'evidence' | 'reason'>;

function sharedReason({ flags, outcome }: EndedRun): UnfitReasonOfRun | null {
  if (outcome.kind === 'unfit') {
    const reason = SHARED_REASONS.find((each) => each === outcome.reason);
    return reason === undefined ? null : { reason, evidence: outcome.evidence[0]?.text ?? null };
  }
  // A measured run with another process on the GPU counts too, because the effect on its times is unknown.
  const flag = flags.find(({ id }) => id === 'contended');
  return flag === undefined ? null : { reason: 'contended', evidence: flag.evidence };
}
