import type { CellRun } from '../records/run.ts';
import type { RunFlag } from '../records/run-flag.ts';

/** One measured run, as histories need it. */
export interface NightRun extends Pick<CellRun, 'buildId' | 'cellKey' | 'environmentId' | 'smClockMhz' | 'sweepId'> {
  /** In the unit of the metric that was asked for. */
  readonly value: number;
  readonly flags: readonly Pick<RunFlag, 'id' | 'effect'>[];
}
