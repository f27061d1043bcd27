import { rejudgeCell } from '../../judge/gate/rejudge.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { cellLabel } from '../../text/cell-label.ts';
import type { RejudgeOutput } from './output.ts';
import { type RejudgedNames, rejudgeText } from './rejudge-text.ts';
import { allCells } from '../../store/cells.ts';
import { findingsOf } from '../../store/sweeps/findings.ts';
import { seriesOf } from '../../store/sweeps/find-sweeps.ts';
import { type StoreDatabase } from '../../store/file/open.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import { chooseCells } from '../../selection/choose-cells.ts';
import type { Io } from '../../cli/io.ts';
import { printResult } from '../../cli/print-result.ts';
import { withStoreToWrite } from '../../cli/with-store.ts';
import { metricNamed } from '../../selection/metric-named.ts';
import { resolveSide } from '../../selection/sides.ts';
import type { RejudgeOptions } from './command.ts';

/** `bench db rejudge`: what today's rules would have told on the stored nights, beside what was told. Stores nothing. */
export async function rejudge(options: RejudgeOptions, io: Io): Promise<ExitCode> {
  return withStoreToWrite(options, io, async (store) => {
    const { output, names } = await rejudged(store.db, options, io);
    printResult(io, options, output, (judged, look) => rejudgeText(judged, names, look));
    return EXIT_CODES.fine;
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
  const then = Map.groupBy(findingsOf(db, newest), ({ cellKey }) => cellKey);
  const cells = chooseCells(allCells(db), options.filter);
  const sweepId = (night: number | null): string | null => (night === null ? null : (sweeps[night]?.sweepId ?? null));
  const changes = cellHistories(db, sweeps, cells, metricNamed(db, options.metric)).flatMap((nights) => {
    const own = (then.get(nights.cell.key) ?? []).filter(({ metric }) => metric === nights.metric);
    return rejudgeCell(nights, sweeps, own).map((entry) => ({
      key: entry.cellKey,
      label: cellLabel(nights.cell),
      direction: entry.direction,
      changePercent: entry.changePercent,
      firstBadSweepId: sweepId(entry.night),
      toldTodaySweepId: sweepId(entry.toldToday),
      toldThenSweepId: sweepId(entry.toldThen),
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
