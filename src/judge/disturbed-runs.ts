import type { Outcome } from '../records/outcome.ts';

interface RepeatedRun {
  readonly cellKey: string;
  readonly role: string;
  readonly repeat: number;
  readonly outcome: Outcome;
}

/** What another run may be spared: the machine was to blame, and may be better by now. */
const DISTURBANCES: readonly string[] = ['throttled', 'contended'];

export interface DisturbedCell {
  readonly cellKey: string;
  /** Planned runs that the machine spoilt, and that no run beyond the plan stands in for yet. */
  readonly missing: number;
  /** Such runs in whose place another one was measured. */
  readonly replaced: number;
  readonly highestRepeat: number;
}

/**
 * The cells of one sweep with runs that something disturbed.
 * @param repeats of each cell, as planned: runs with a higher number stand in for others
 */
export function disturbedCells(runs: readonly RepeatedRun[], repeats: number): DisturbedCell[] {
  const timed = runs.filter(({ role }) => role === 'timed');
  return [...Map.groupBy(timed, ({ cellKey }) => cellKey)].flatMap(([cellKey, own]) => {
    const disturbed = own.filter((run) => run.repeat <= repeats && isDisturbed(run)).length;
    if (disturbed === 0) return [];
    const beyond = own.filter(({ repeat }) => repeat > repeats);
    const measured = beyond.filter(({ outcome }) => outcome.kind === 'measured').length;
    return [
      {
        cellKey,
        missing: Math.max(0, disturbed - beyond.length),
        replaced: Math.min(disturbed, measured),
        highestRepeat: Math.max(...own.map(({ repeat }) => repeat)),
      },
    ];
  });
}

function isDisturbed({ outcome }: RepeatedRun): boolean {
  return outcome.kind === 'unfit' && DISTURBANCES.includes(outcome.reason);
}
