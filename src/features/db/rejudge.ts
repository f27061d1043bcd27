import { type Io, printResult } from '../../cli/io.ts';
import { withStoreToWrite } from '../../cli/with-store.ts';
import { UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { ALERTING } from '../../judge/history/noise.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { Finding } from '../../records/finding.ts';
import { gateMetric } from '../../records/metric.ts';
import type { SweepId } from '../../records/scalars.ts';
import { chooseCells, metricNamed } from '../../selection/by-name.ts';
import { resolveSide } from '../../selection/sides.ts';
import { allCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { seriesOf } from '../../store/sweeps/find-sweeps.ts';
import { findingsOf } from '../../store/sweeps/findings.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatPercent } from '../../terminal/numbers.ts';
import { labelIn } from '../../records/cell-label.ts';
import { judgedSweep } from '../check/index.ts';
import type { RejudgeOptions } from './command.ts';
import type { RejudgeOutput } from './output.ts';

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

/** A finding, with the change of one of its cells. */
type ReportedOfCell = Pick<Finding, 'direction' | 'firstBadSweepId' | 'reportedSweepId'> & Finding['cells'][number];

/** A change under today's rules, as reported at the time, or both. */
interface Rejudged extends Pick<ReportedOfCell, 'cellKey' | 'changePercent' | 'direction' | 'firstBadSweepId'> {
  /**
   * The sweep that reports it under today's rules; null if none does. `reportedThen` is the sweep that reported it at
   * the time.
   */
  readonly reportedToday: SweepId | null;
  readonly reportedThen: SweepId | null;
}

function reportedOfCells(findings: readonly Finding[]): ReportedOfCell[] {
  const changes = findings.filter(({ kind }) => kind !== 'limit');
  return changes.flatMap((finding) => finding.cells.map((cell): ReportedOfCell => ({ ...finding, ...cell })));
}

/**
 * Compares findings under today's rules with those reported at the time. A change is the same if it begins in about the
 * same sweep.
 */
function rejudge(
  today: readonly ReportedOfCell[],
  then: readonly ReportedOfCell[],
  sweepIds: readonly SweepId[],
): Rejudged[] {
  const placeOf = new Map(sweepIds.map((sweepId, place) => [sweepId, place]));
  const beginOf = ({ firstBadSweepId }: ReportedOfCell): number => placeOf.get(firstBadSweepId) ?? Number.NaN;
  const open = [...then];
  const both = today.map((change): Rejudged => {
    const same = open.findIndex(
      (reported) =>
        reported.cellKey === change.cellKey &&
        reported.metric === change.metric &&
        reported.direction === change.direction &&
        Math.abs(beginOf(reported) - beginOf(change)) <= ALERTING.sameSweeps,
    );
    const [found] = same === -1 ? [] : open.splice(same, 1);
    return { ...change, reportedToday: change.reportedSweepId, reportedThen: found?.reportedSweepId ?? null };
  });
  return [
    ...both,
    ...open.map((reported): Rejudged => ({ ...reported, reportedToday: null, reportedThen: reported.reportedSweepId })),
  ];
}
