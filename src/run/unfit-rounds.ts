import type { UnfitReason } from '../records/outcome.ts';
import type { CellKey } from '../records/scalars.ts';
import type { RunRecord } from '../records/run.ts';

/** A whole round of runs that the machine spoilt, or that were started otherwise than asked for. */
export interface UnfitRound {
  readonly reason: SharedReason;
  /** In a row, of all GPUs together. */
  readonly runs: number;
  readonly cells: number;
  /** Of the last one; null if nothing shows it. */
  readonly evidence: string | null;
}

/** Reasons that are not of the cell: the next run will have them, too. */
export const SHARED_REASONS = ['contended', 'throttled', 'optionsDiffer'] as const satisfies readonly UnfitReason[];

type SharedReason = (typeof SHARED_REASONS)[number];

/** Fewer say nothing of the machine. */
const LEAST = { runs: 5, cells: 3 };

type EndedRun = Pick<RunRecord, 'flags' | 'outcome' | 'role'>;

/**
 * Counts unfit runs in a row. A run that failed, or was not started, says nothing of the machine: it neither counts nor
 * ends the row, and its cell is not waited for.
 */
export class UnfitRounds {
  private cells: ReadonlySet<CellKey> = new Set();
  private readonly silent = new Set<CellKey>();
  private row: (Pick<UnfitRound, 'evidence' | 'reason' | 'runs'> & { readonly cells: ReadonlySet<CellKey> }) | null =
    null;

  /** @param cellKeys of the runs that come now: a round has each of them */
  begin(cellKeys: Iterable<CellKey>): void {
    this.cells = new Set(cellKeys);
  }

  skip(cellKey: CellKey): void {
    this.silent.add(cellKey);
  }

  /** @returns the round that this run completes, if all of it is unfit for one reason */
  take(cellKey: CellKey, run: EndedRun): UnfitRound | null {
    if (run.role !== 'timed') return null;
    if (run.outcome.kind === 'failed') this.skip(cellKey);
    else this.count(cellKey, sharedReason(run));
    return this.whole();
  }

  private count(cellKey: CellKey, found: Pick<UnfitRound, 'evidence' | 'reason'> | null): void {
    this.silent.delete(cellKey);
    const before = this.row !== null && this.row.reason === found?.reason ? this.row : { runs: 0, cells: [] };
    this.row = found && { ...found, runs: before.runs + 1, cells: new Set([...before.cells, cellKey]) };
  }

  private whole(): UnfitRound | null {
    if (this.row === null) return null;
    const { cells, runs } = this.row;
    const isWhole = [...this.cells].every((key) => cells.has(key) || this.silent.has(key));
    return isWhole && runs >= LEAST.runs && cells.size >= LEAST.cells ? { ...this.row, cells: cells.size } : null;
  }
}

function sharedReason({ flags, outcome }: EndedRun): Pick<UnfitRound, 'evidence' | 'reason'> | null {
  if (outcome.kind === 'unfit') {
    const reason = SHARED_REASONS.find((each) => each === outcome.reason);
    return reason === undefined ? null : { reason, evidence: outcome.evidence[0]?.text ?? null };
  }
  // Another process on the GPU: what it did to the times of a measured run is not known.
  const flag = flags.find(({ id }) => id === 'contended');
  return flag === undefined ? null : { reason: 'contended', evidence: flag.evidence };
}
