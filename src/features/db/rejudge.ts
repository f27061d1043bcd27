import { type Io, printResult } from '../../cli/io.ts';
import { withStoreToWrite } from '../../cli/with-store.ts';
import { UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { rejudge, type ReportedOfCell, reportedOfCells } from '../../judge/gate/rejudge.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { Finding } from '../../records/finding.ts';
import { gateMetric } from '../../records/metric.ts';
import { chooseCells, metricNamed } from '../../selection/by-name.ts';
import { resolveSide } from '../../selection/sides.ts';
import { allCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { seriesOf } from '../../store/sweeps/find-sweeps.ts';
import { findingsOf } from '../../store/sweeps/findings.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatPercent } from '../../terminal/numbers.ts';
import { labelIn } from '../../text/cell-label.ts';
import { judgedSweep } from '../check/index.ts';
import type { RejudgeOptions } from './command.ts';
import type { RejudgeOutput } from './output.ts';
import type { SweepId } from '../../records/scalars.ts';

/**
 * `bench db rejudge`: judges the stored sweeps by today's rules and compares with what was reported. Stores nothing.
 */
export async function rejudgeStore(options: RejudgeOptions, io: Io): Promise<ExitCode> {
  return withStoreToWrite(options, io, async (store) => {
    const { output, names } = await rejudged(store.db, options, io);
    return printResult(io, options, output, (judged, look) => rejudgeText(judged, names, look));
  });
}

async function rejudged(
  db: StoreDatabase,
  options: RejudgeOptions,
  io: Io,
): Promise<{ output: RejudgeOutput; names: RejudgedNames }> {
  const [newest] = (await resolveSide(db, 'latest', io)).sweeps;
  if (newest === undefined) throw new UsageError('there is no sweep to judge again');
  const sweeps = seriesOf(db, newest, options.last).toReversed();
  const cells = new Map(chooseCells(db, allCells(db), options.filter).map((cell) => [cell.key, cell]));
  const metric = metricNamed(db, options.metric);
  const isAsked = ({ cellKey, metric: own }: ReportedOfCell): boolean => {
    const cell = cells.get(cellKey);
    return cell !== undefined && gateMetric(metric, cell) === own;
  };
  let today: readonly Finding[] = [];
  for (const sweep of sweeps) {
    io.signal.throwIfAborted();
    today = (await judgedSweep(db, sweep, io, { findings: today })).verdict.findings;
  }
  const [now, then] = [today, findingsOf(db, { ...newest, matrices: [newest.matrix] })].map((findings) =>
    reportedOfCells(findings).filter(isAsked),
  );
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const changes = rejudge(now ?? [], then ?? [], ids).map((change) => ({
    key: change.cellKey,
    label: labelIn(cells, change.cellKey),
    direction: change.direction,
    changePercent: change.changePercent,
    firstBadSweepId: change.firstBadSweepId,
    toldTodaySweepId: change.reportedToday,
    toldThenSweepId: change.reportedThen,
  }));
  return {
    output: { schemaVersion: 1, nights: sweeps.length, changes },
    names: { cells, startedAt: new Map(sweeps.map((sweep) => [sweep.sweepId, sweep.startedAt])) },
  };
}

/** Labels of the cells and sweeps in the output. */
interface RejudgedNames {
  readonly cells: ReadonlyMap<string, KeyedCell>;
  readonly startedAt: ReadonlyMap<string, string | null>;
}

function rejudgeText({ nights, changes }: RejudgeOutput, names: RejudgedNames, look: Look): string[] {
  const differing = changes.filter(({ toldTodaySweepId, toldThenSweepId }) => toldTodaySweepId !== toldThenSweepId);
  const same = changes.length - differing.length;
  const onlyToday = differing.filter(({ toldThenSweepId }) => toldThenSweepId === null).length;
  const onlyThen = differing.filter(({ toldTodaySweepId }) => toldTodaySweepId === null).length;
  const head = look.style.strong(
    differing.length === 0
      ? `${count(nights, 'sweep')}: today's rules report the same ${count(same, 'change')}`
      : `${count(nights, 'sweep')}: ${count(same, 'change')} reported by both, ${onlyToday} only by today's rules, ${onlyThen} only then, ${differing.length - onlyToday - onlyThen} in another sweep`,
  );
  if (differing.length === 0) return [head];
  const date = (sweepId: SweepId | null): string =>
    sweepId === null ? '–' : (names.startedAt.get(sweepId)?.slice(0, 10) ?? '?');
  const rows = withCells(differing, names.cells);
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
