import { type Io, printResult } from '../../cli/io.ts';
import { withStoreToWrite } from '../../cli/with-store.ts';
import { UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { rejudgeCell } from '../../judge/gate/rejudge.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import { chooseCells, metricNamed } from '../../selection/by-name.ts';
import { resolveSide } from '../../selection/sides.ts';
import { allCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { seriesOf } from '../../store/sweeps/find-sweeps.ts';
import { findingsOf } from '../../store/sweeps/findings.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatPercent } from '../../terminal/numbers.ts';
import { cellLabel } from '../../text/cell-label.ts';
import type { RejudgeOptions } from './command.ts';
import type { RejudgeOutput } from './output.ts';
import type { SweepId } from '../../records/scalars.ts';

/** `bench db rejudge`: apply today's rules to the stored sweeps, next to what was reported. Stores nothing. */
export async function rejudge(options: RejudgeOptions, io: Io): Promise<ExitCode> {
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
  const stored = findingsOf(db, { ...newest, matrices: [newest.matrix] });
  const reported = stored.flatMap(({ cells: changed, ...finding }) =>
    changed.map(({ cellKey, metric, changePercent }) => ({ ...finding, cellKey, metric, changePercent })),
  );
  const then = Map.groupBy(reported, ({ cellKey }) => cellKey);
  const cells = chooseCells(db, allCells(db), options.filter);
  const sweepId = (night: number | null): string | null => (night === null ? null : (sweeps[night]?.sweepId ?? null));
  const changes = cellHistories(db, sweeps, cells, metricNamed(db, options.metric)).flatMap((nights) => {
    const own = (then.get(nights.cell.key) ?? []).filter(({ metric }) => metric === nights.metric);
    return rejudgeCell(nights, sweeps, own).map((entry) => ({
      key: entry.cellKey,
      label: cellLabel(nights.cell),
      direction: entry.direction,
      changePercent: entry.changePercent,
      firstBadSweepId: sweepId(entry.night),
      toldTodaySweepId: sweepId(entry.reportedToday),
      toldThenSweepId: sweepId(entry.reportedThen),
    }));
  });
  return {
    output: { schemaVersion: 1, nights: sweeps.length, changes },
    names: {
      cells: new Map(cells.map((cell) => [cell.key, cell])),
      startedAt: new Map(sweeps.map((sweep) => [sweep.sweepId, sweep.startedAt])),
    },
  };
}

/** Labels for the ids of the output. */
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
