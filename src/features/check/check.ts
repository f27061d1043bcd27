import { failOn } from '../../cli/options.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { regressionAmong } from '../../judge/accuracy-drop.ts';
import { groupFindings, type LocatedFinding } from '../../judge/gate/group-findings.ts';
import type { JudgedCell } from '../../judge/gate/judge-cell.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { Finding } from '../../records/finding.ts';
import { metricOf } from '../../records/metric.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { recordsByCell } from '../../store/runs/accuracies.ts';
import { deleteAcknowledgements, saveFindings } from '../../store/sweeps/findings.ts';
import { cellLabel } from '../../text/cell-label.ts';
import type { CheckOptions } from './command.ts';
import { explainGroup, findingOutput } from './explain-groups.ts';
import { type JudgedNight, judgeNight, type Night, nightAt } from './night.ts';
import type { CheckedSweep } from './output.ts';
import { checkText } from './text.ts';

/** `bench check`: what the newest night says of the histories of all cells. */
export async function check(options: CheckOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async (store) => {
    const { db } = store;
    const night = await nightAt(db, options, io);
    const judged = await judgeNight(db, night, options, io);
    const reported = judged.cells.flatMap((entry) => entry.reported);
    // Looking back at an old night, at some cells or at another metric changes nothing.
    if (options.asOf === undefined && options.filter === undefined && options.metric === undefined) {
      if (store.isReadOnly) {
        io.err('note: the store may only be read here: what this check says was not recorded\n');
      } else {
        const earlier = judged.cells.flatMap((entry) => entry.earlier);
        saveFindings(db, [...earlier, ...reported], judged.retracted);
        deleteAcknowledgements(db, judged.endedAcknowledgements);
      }
    }
    const checked = await checkReport(db, night, judged, io);
    const cells = new Map(judged.cells.map(({ nights: { cell } }) => [cell.key, cell]));
    printResult(io, options, checked, (_, look) => checkText(checked, { night, cells }, look));
    return failOn(options.failOn, {
      regression: reported.some(({ direction }) => direction === 'slower') || checked.accuracy.length > 0,
      failed: judged.failed.length > 0,
      unclear: false,
    });
  });
}

/** What `bench check` prints of a night; stores nothing. */
export async function checkReport(db: StoreDatabase, night: Night, judged: JudgedNight, io: Io): Promise<CheckedSweep> {
  const cells = judged.cells.map(({ nights }) => nights.cell);
  const reported = judged.cells.flatMap((entry) => located(entry, entry.reported, night));
  const { sweepId, startedAt, commit, branch, matrix, provenance } = night.sweep;
  return {
    schemaVersion: 1,
    sweepId,
    startedAt,
    commit,
    branch,
    matrix,
    provenance,
    nights: night.sweeps.length,
    cells: cells.length,
    groups: await Promise.all(groupFindings(reported, cells).map((group) => explainGroup(db, group, judged.cells, io))),
    earlier: judged.cells.flatMap((entry) => located(entry, entry.earlier, night)).map(findingOutput),
    failed: judged.failed.map(({ cell, reasons }) => ({ key: cell.key, label: cellLabel(cell), reasons })),
    off: judged.cells.flatMap((entry) => offOutput(entry, night)),
    accuracy: accuracyDrops(db, night, cells),
    notes: night.note === null ? judged.notes : [night.note, ...judged.notes],
  };
}

function offOutput({ nights: { cell, metric, runs, history }, off }: JudgedCell, { sweeps }: Night) {
  if (off === null) return [];
  const lastGood = history.nights[history.nights.length - 1 - off.nights];
  const sweepId = lastGood === undefined ? undefined : sweeps[lastGood]?.sweepId;
  const about = { key: cell.key, label: cellLabel(cell), metric, unit: metricOf(metric).unit };
  return [{ ...about, ...off, runs: runs.at(-1)?.length ?? 0, lastGoodSweepId: sweepId ?? null }];
}

function located({ nights }: JudgedCell, findings: readonly Finding[], { sweeps }: Night): LocatedFinding[] {
  return findings.map((finding) => ({
    finding,
    cell: nights.cell,
    night: sweeps.findIndex(({ sweepId }) => sweepId === finding.firstBadSweepId),
  }));
}

/**
 * Accuracies of tonight's files beside those of the last night on which there were any: a model is as accurate on every
 * run, so one night is enough, and a fall is told on the night on which its file came.
 */
function accuracyDrops(
  db: StoreDatabase,
  { sweep, sweeps }: Night,
  cells: readonly KeyedCell[],
): CheckedSweep['accuracy'] {
  const current = recordsByCell(db, [sweep.sweepId]);
  if (current.size === 0) return [];
  for (const { sweepId } of sweeps.toReversed()) {
    if (sweepId === sweep.sweepId) continue;
    const before = recordsByCell(db, [sweepId]);
    if (before.size > 0) return dropsBetween(cells, before, current);
  }
  return [];
}

function dropsBetween(cells: readonly KeyedCell[], before: RecordsByCell, current: RecordsByCell) {
  const drops = cells.flatMap(({ key }) => {
    const drop = regressionAmong(before.get(key) ?? [], current.get(key) ?? []);
    return drop === null ? [] : [{ ...drop, key }];
  });
  return [...Map.groupBy(drops, ({ now }) => now.accuracyId).values()].flatMap((same) =>
    same
      .slice(-1)
      .map(({ now, before: was, dropDb }) => ({
        model: now.model,
        precision: now.precision,
        before: was.accuracy.sqnrDb,
        after: now.accuracy.sqnrDb,
        dropDb: Number.isFinite(dropDb) ? dropDb : null,
        keys: same.map(({ key }) => key),
      })),
  );
}

type RecordsByCell = ReturnType<typeof recordsByCell>;
