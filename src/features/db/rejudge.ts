import { type Io, printResult } from '../../cli/io.ts';
import { withStoreToWrite } from '../../cli/with-store.ts';
import { UsageError, type ExitCode } from '../../errors.ts';
import { ALERTING } from '../../judge/history/noise.ts';
import type { Finding } from '../../records/finding.ts';
import { gateMetric } from '../../records/metric.ts';
import type { SweepId } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import { chooseCells, metricNamed } from '../../selection/by-name.ts';
import { resolveSide } from '../../selection/sides.ts';
import { allCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { seriesOf } from '../../store/sweeps/find-sweeps.ts';
import { findingsOf } from '../../store/sweeps/findings.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatPercent } from '../../terminal/numbers.ts';
import { labelIn } from '../../records/cell.ts';
import { judgedSweep } from '../check/index.ts';
import type { RejudgeOptions } from './command.ts';
import type { RejudgeOutput } from './output.ts';

/**
 * `bench db rejudge`: judges the stored sweeps by today's rules and compares with what was reported. Stores nothing.
 */
export async function rejudgeStore(options: RejudgeOptions, io: Io): Promise<ExitCode> {
  return withStoreToWrite(options, io, async (store) => {
    const found = await rejudged(store.db, options, io);
    return printResult(io, options, found.output, (output, look) => rejudgeText(output, found, look));
  });
}

async function rejudged(db: StoreDatabase, options: RejudgeOptions, io: Io) {
  const [newest] = (await resolveSide(db, 'latest', io)).sweeps;
  if (newest === undefined) throw new UsageError('there is no sweep to judge again');
  const sweeps = seriesOf(db, newest, options.last).toReversed();
  const cells = new Map(chooseCells(db, allCells(db), options.filter).map((cell) => [cell.key, cell]));
  const metric = metricNamed(db, options.metric);
  let today: readonly Finding[] = [];
  for (const sweep of sweeps) {
    io.signal.throwIfAborted();
    today = (await judgedSweep(db, sweep, io, { findings: today })).verdict.findings;
  }
  const [now = [], then = []] = [today, findingsOf(db, { ...newest, matrices: [newest.matrix] })].map((findings) =>
    findings
      .filter(({ kind }) => kind !== 'limit')
      .flatMap((finding) => finding.cells.map((cell) => ({ ...finding, ...cell })))
      .filter(({ cellKey, metric: own }) => {
        const cell = cells.get(cellKey);
        return cell !== undefined && gateMetric(metric, cell) === own;
      }),
  );
  const changes = inBoth(now, then, sweeps).map(({ change, ...reported }) => {
    const { cellKey: key, changePercent, direction, firstBadSweepId } = change;
    return { key, label: labelIn(cells, key), direction, changePercent, firstBadSweepId, ...reported };
  });
  const output: RejudgeOutput = { schemaVersion: 1, nights: sweeps.length, changes };
  return { output, cells, startedAt: new Map(sweeps.map((sweep) => [sweep.sweepId, sweep.startedAt])) };
}

type Rejudged = Awaited<ReturnType<typeof rejudged>>;

function rejudgeText({ nights, changes }: RejudgeOutput, { cells, startedAt }: Rejudged, look: Look): string[] {
  const differing = changes.filter(({ toldTodaySweepId, toldThenSweepId }) => toldTodaySweepId !== toldThenSweepId);
  const same = changes.length - differing.length;
  const head = look.style.strong(
    `${count(nights, 'sweep')}: ${count(same, 'change')} reported in the same sweep by today's rules, ${differing.length} not`,
  );
  if (differing.length === 0) return [head];
  const date = (sweepId: SweepId | null): string =>
    sweepId === null ? '–' : (startedAt.get(sweepId)?.slice(0, 10) ?? '?');
  const rows = withCells(differing, cells);
  const table = cellTable<(typeof rows)[number]>(
    rows,
    [
      { header: 'change', text: (row) => formatPercent(row.changePercent), align: 'right' },
      { header: 'since', text: ({ firstBadSweepId }) => date(firstBadSweepId), dropRank: 1 },
      { header: "reported by today's rules", text: ({ toldTodaySweepId }) => date(toldTodaySweepId) },
      { header: 'reported then', text: ({ toldThenSweepId }) => date(toldThenSweepId) },
    ],
    look,
  );
  return [head, '', ...table];
}

/** A finding, with the change of one of its cells. */
type ReportedOfCell = Pick<Finding, 'direction' | 'firstBadSweepId' | 'reportedSweepId'> & Finding['cells'][number];

/** Pairs changes that begin in about the same sweep; null for a side that does not report the change. */
function inBoth(today: readonly ReportedOfCell[], then: readonly ReportedOfCell[], sweeps: readonly Sweep[]) {
  const placeOf = new Map(sweeps.map(({ sweepId }, place) => [sweepId, place]));
  const beginOf = ({ firstBadSweepId }: ReportedOfCell): number => placeOf.get(firstBadSweepId) ?? Number.NaN;
  const others = new Set(then);
  const both = today.map((change) => {
    const found = [...others].find(
      (reported) =>
        reported.cellKey === change.cellKey &&
        reported.metric === change.metric &&
        reported.direction === change.direction &&
        Math.abs(beginOf(reported) - beginOf(change)) <= ALERTING.sameSweeps,
    );
    if (found !== undefined) others.delete(found);
    return { change, toldTodaySweepId: change.reportedSweepId, toldThenSweepId: found?.reportedSweepId ?? null };
  });
  const onlyThen = [...others].map((change) => {
    return { change, toldTodaySweepId: null, toldThenSweepId: change.reportedSweepId };
  });
  return [...both, ...onlyThen];
}
