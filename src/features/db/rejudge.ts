import { rejudgeCell } from '../../judge/gate/rejudge.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { jsonText } from '../../text/printable.ts';
import { type RejudgeReport, rejudgeJson, rejudgeText } from './rejudge-text.ts';
import { allCells } from '../../store/cells.ts';
import { findingsOf } from '../../store/sweeps/findings.ts';
import { seriesOf } from '../../store/sweeps/find-sweeps.ts';
import { type StoreDatabase } from '../../store/file/open.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import { chooseCells } from '../../selection/choose-cells.ts';
import { type Io, printLines } from '../../cli/io.ts';
import { withStoreToWrite } from '../../cli/with-store.ts';
import { metricNamed } from '../../selection/metric-named.ts';
import { resolveSide } from '../../selection/sides.ts';

export interface RejudgeOptions {
  readonly json?: boolean;
  readonly db?: string;
  readonly metric?: string;
  readonly filter?: string;
  readonly last: number;
}

/** `bench db rejudge`: what today's rules would have told on the stored nights, beside what was told. Stores nothing. */
export async function rejudge(options: RejudgeOptions, io: Io): Promise<ExitCode> {
  return withStoreToWrite(options, io, async (store) => {
    const report = await reportOf(store.db, options, io);
    if (options.json === true) io.out(`${jsonText(rejudgeJson(report))}\n`);
    else printLines(io, rejudgeText(report, io.look));
    return EXIT_CODES.fine;
  });
}

async function reportOf(db: StoreDatabase, options: RejudgeOptions, io: Io): Promise<RejudgeReport> {
  const [newest] = (await resolveSide(db, 'latest', io)).sweeps;
  if (newest === undefined) throw new UsageError('there is no sweep to judge again');
  const sweeps = seriesOf(db, newest, options.last).toReversed();
  const then = Map.groupBy(findingsOf(db, newest), ({ cellKey }) => cellKey);
  const cells = chooseCells(allCells(db), options.filter);
  const rejudged = cellHistories(db, sweeps, cells, metricNamed(db, options.metric)).flatMap((nights) =>
    rejudgeCell(
      nights,
      sweeps,
      (then.get(nights.cell.key) ?? []).filter(({ metric }) => metric === nights.metric),
    ).map((entry) => ({ ...entry, cell: nights.cell })),
  );
  return { sweeps, rejudged };
}
