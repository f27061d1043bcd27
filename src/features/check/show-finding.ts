import { type Io, printResult } from '../../cli/io.ts';
import { UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import type { Finding } from '../../records/finding.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { seriesOf, sweepsById } from '../../store/sweeps/find-sweeps.ts';
import { acknowledgementsOf } from '../../store/sweeps/findings.ts';
import { canConfirm } from '../../store/sweeps/sweeps.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { printable } from '../../text/printable.ts';
import { changesTable, findingText } from './finding-text.ts';
import { gather } from './gather.ts';
import { newestBatch } from './judge-series.ts';
import type { ShownFinding } from './output.ts';
import { pictureOf } from './picture.ts';
import { explanation, reportFindings } from './report-findings.ts';
import { seriesAt } from './series.ts';

/** A stored finding in full, over the sweeps of its series until now. */
export async function showFinding(
  db: StoreDatabase,
  stored: Finding,
  options: { readonly json?: true },
  io: Io,
): Promise<ExitCode> {
  const { findingId, reportedSweepId } = stored;
  const [newest] = sweepsById(db, [reportedSweepId]).flatMap((sweep) => seriesOf(db, sweep, 1));
  if (newest === undefined) throw new UsageError(`finding ${findingId}: the sweeps of its series are not finished`);
  const { evidence } = await gather(db, await seriesAt(db, newest, io), io);
  const known = {
    acknowledgements: acknowledgementsOf(db, [findingId]),
    batch: newestBatch(db, newest),
    findings: [stored],
    // It is shown whatever its size, and however long ago it ended.
    rules: { ...evidence.rules, minChangeOf: () => 0 },
    sweeps: sweepsById(db, [stored.firstBadSweepId]),
  };
  const [finding] = await reportFindings(db, known, explanation(db, evidence, io.cwd));
  if (finding === undefined) throw new UsageError(`finding ${findingId} has no cell`);
  const series = { cells: evidence.cells, canConfirm: canConfirm(db, newest.sweepId), sweepId: newest.sweepId };
  const output: ShownFinding = { schemaVersion: 2, ...finding };
  return printResult(io, options, output, (_, look) => {
    const picture = pictureOf(evidence);
    const mark = finding.acknowledged;
    const accepted = mark === null ? '' : `  acknowledged on ${mark.createdAt.slice(0, 10)}: ${printable(mark.reason)}`;
    return [
      ...findingText(finding, [finding], series, picture, look),
      ...(accepted === '' ? [] : wrapHanging(accepted, look.columns, 4)),
      '',
      ...changesTable(finding, finding.details, picture, look),
    ];
  });
}
