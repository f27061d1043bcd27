import type { Io } from '../../cli/io.ts';
import { gateRules } from '../../judge/gate/limits.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { isKept } from '../../store/runs/sweep-values.ts';
import { acknowledgementsOf } from '../../store/sweeps/findings.ts';
import { gateOf, plannedPairsOf } from '../../store/sweeps/gate-of-sweep.ts';
import { checkedSweep } from './checked-series.ts';
import { knownFindings } from './gather.ts';
import { headlineOf, type Standing, standingOf } from './headline.ts';
import { pendingOf } from './judge-series.ts';
import { reportFindings } from './report-findings.ts';
import { seriesAt } from './series.ts';

/** What `bench check` answers of a sweep, without its cells. */
export interface GateAnswer {
  readonly headline: string;
  readonly standing: Standing;
}

/** Of a sweep that was judged, and whose runs are what they were then, the store has the answer. */
export async function gateAnswer(db: StoreDatabase, sweep: Sweep, io: Pick<Io, 'cwd' | 'env'>): Promise<GateAnswer> {
  const { before, pending } = pendingOf(db, sweep, false);
  // What is judged by few sweeps is judged soon.
  const isStored = pending.length === 0 && before?.judgedBy === 'history' && isKept(db, sweep.sweepId);
  if (!isStored || before.failedCells === null) {
    const { series, standing } = await checkedSweep(db, sweep, io);
    return { headline: series.headline, standing };
  }
  const { judgedBy } = before;
  const series = await seriesAt(db, sweep, io);
  const { baseBranch, sweeps } = series;
  const findings = knownFindings(db, series, true);
  const ids = findings.map(({ findingId }) => findingId);
  const known = {
    acknowledgements: acknowledgementsOf(db, ids),
    batch: new Set(before.batch),
    findings,
    rules: gateRules(gateOf(db, sweep.sweepId), null),
    sweeps,
  };
  const standing = standingOf(await reportFindings(db, known, null), before.failedCells);
  const hasPairs = plannedPairsOf(db, sweep.sweepId) !== null;
  return { standing, headline: headlineOf({ judgedBy, sweeps: sweeps.length, hasPairs, baseBranch }, standing) };
}
