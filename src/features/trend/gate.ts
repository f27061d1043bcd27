import type { Io } from '../../cli/io.ts';
import { reportedChanges } from '../../judge/trend.ts';
import type { MetricId } from '../../records/metric.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { seriesOf, sweepsById } from '../../store/sweeps/find-sweeps.ts';
import { type CheckedSweep, checkedSweep } from '../check/index.ts';

/** What the gate says of each series, judged once. */
export class Gate {
  private readonly db: StoreDatabase;
  private readonly io: Io;
  private readonly newest = new Map<SweepId, Sweep | undefined>();
  private readonly judged = new Map<SweepId, Promise<CheckedSweep>>();

  constructor(db: StoreDatabase, io: Io) {
    this.db = db;
    this.io = io;
  }

  /** Of a metric of a cell in the newest sweep of its series; null where it is not judged. @param sweepId of the series */
  async of(cellKey: CellKey, metric: MetricId, sweepId: SweepId) {
    if (!this.newest.has(sweepId)) {
      const [own] = sweepsById(this.db, [sweepId]);
      this.newest.set(sweepId, own === undefined ? undefined : seriesOf(this.db, own, 1)[0]);
    }
    const newest = this.newest.get(sweepId);
    if (newest === undefined) return null;
    const checked = this.judged.get(newest.sweepId) ?? checkedSweep(this.db, newest, this.io);
    this.judged.set(newest.sweepId, checked);
    const { judged } = await checked;
    const { verdict } = judged;
    const findings = verdict.findings.filter(({ cells }) =>
      cells.some((cell) => cell.cellKey === cellKey && cell.metric === metric),
    );
    return { cell: verdict.judged(cellKey, metric), reported: reportedChanges(findings, judged, { cellKey, metric }) };
  }
}
