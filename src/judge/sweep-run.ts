import type { RunFlag } from '../records/run-flag.ts';

/** One measured run, as histories need it. */
export interface NightRun {
  readonly cellKey: string;
  readonly sweepId: string;
  readonly buildId: string | null;
  readonly environmentId: string;
  /** In the unit of the metric that was asked for. */
  readonly value: number;
  /** Null when nobody watched the machine. */
  readonly smClockMhz: number | null;
  readonly flags: readonly Pick<RunFlag, 'id' | 'effect'>[];
}
