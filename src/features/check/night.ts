import { cellsOfSweeps } from '../../selection/by-name.ts';
import { type Accepted, type CellNights, judgeCell } from '../../judge/gate/judge-cell.ts';
import { ALERTING } from '../../judge/history/settings.ts';
import { type KeyedCell, variablesOf } from '../../records/cell.ts';
import { inLabelOrder } from '../../text/cell-label.ts';
import { knownVariablesOn } from '../../process/environment-variables.ts';
import { count } from '../../terminal/numbers.ts';
import { UsageError } from '../../errors.ts';
import { failureSentences } from '../../records/outcome.ts';
import type { Sweep } from '../../records/sweep.ts';
import { contains } from '../../tools/git/git.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { acknowledgementsOf, findingsOf } from '../../store/sweeps/findings.ts';
import { seriesOf, seriesUntil, sweepsUntil } from '../../store/sweeps/find-sweeps.ts';
import { oneCellFindings } from './one-cell-finding.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { type CellHistory, cellHistories } from '../../selection/cell-histories.ts';
import { metricNamed } from '../../selection/by-name.ts';
import type { Io } from '../../cli/io.ts';
import { resolveSide, undatedNote } from '../../selection/sides.ts';

/** A sweep with those before it in its series, the oldest first; the last one is the newest. */
export interface Night {
  readonly sweep: Sweep;
  readonly sweeps: readonly Sweep[];
  /** How the series was chosen when none was named; else null. */
  readonly note: string | null;
}

export type JudgedNight = Awaited<ReturnType<typeof judgeNight>>;

/** @param asOf a date, or a reference as for `compare`; default: the newest sweep */
export async function nightAt(
  db: StoreDatabase,
  { asOf, branch }: { readonly asOf?: string; readonly branch?: string },
  io: Io,
): Promise<Night> {
  const isDate = asOf !== undefined && /^\d{4}-\d\d-\d\d$/.test(asOf);
  const side = await resolveSide(db, asOf === undefined || isDate ? 'latest' : asOf, io, { branch });
  const [newest] = side.sweeps;
  const { windowNights } = ALERTING;
  const found =
    newest === undefined
      ? []
      : isDate
        ? seriesOf(db, newest, windowNights, `${asOf}T23:59:59.999Z`)
        : seriesUntil(db, newest, windowNights);
  const sweeps = found.toReversed();
  const sweep = sweeps.at(-1);
  if (sweep === undefined) {
    throw new UsageError(
      asOf === undefined
        ? 'no sweep of this series can be read: `bench db verify` says whether the store is damaged'
        : `--as-of ${asOf}: no sweep had been made by then`,
    );
  }
  return { sweep, sweeps, note: side.note };
}

export async function judgeNight(
  db: StoreDatabase,
  night: Night,
  options: { readonly metric?: string; readonly filter?: string },
  io: Io,
) {
  const { sweepId } = night.sweep;
  const chosen = inLabelOrder(cellsOfSweeps(db, [sweepId], options.filter));
  // Cells that are ineligible because of a variable on an axis have no history to keep.
  const cells = chosen.filter(({ axisFlags }) => knownVariablesOn(variablesOf(axisFlags)).length === 0);
  const keys = cells.map(({ key }) => key);
  const runs = cellRunsOf(db, [sweepId], keys);
  const histories = cellHistories(db, night.sweeps, cells, metricNamed(db, options.metric));
  const known = await knownFindings(db, night, io);
  const judged = histories.map((nights) => {
    const { cell, metric } = nights;
    const earlier = known.earlier.filter((finding) => finding.cellKey === cell.key && finding.metric === metric);
    return judgeCell(nights, night.sweeps, earlier, known.accepted);
  });
  const reported = new Set(judged.flatMap((entry) => entry.reported.map(({ findingId }) => findingId)));
  const limits = chosen.length - cells.length;
  const limitNote = `${count(limits, 'cell')} under a profiling switch or as an upper bound: never judged`;
  return {
    cells: judged,
    failed: failedLatest(cells, histories, runs, night),
    /** Findings that an earlier look at this same night reported, and this one does not. */
    retracted: known.latest.filter((id) => !reported.has(id)),
    /** Findings that were acknowledged until now. */
    endedAcknowledgements: judged.flatMap(({ ended }) => ended).filter((id) => reported.has(id)),
    notes: [...(limits === 0 ? [] : [limitNote]), ...notesOf(histories, night)],
  };
}

async function knownFindings(db: StoreDatabase, { sweep }: Night, io: Io) {
  const stored = oneCellFindings(findingsOf(db, { ...sweep, matrices: [sweep.matrix] }));
  const known = sweepsUntil(db, [...new Set(stored.map(({ toldSweepId }) => toldSweepId))], sweep);
  const ids = stored.map(({ findingId }) => findingId);
  const accepted = new Map<string, Accepted>();
  for (const [findingId, { until }] of acknowledgementsOf(db, ids)) {
    const level = stored.find((finding) => finding.findingId === findingId)?.after ?? Number.NaN;
    accepted.set(findingId, { level, isOver: await hasPassed(until, sweep, io) });
  }
  return {
    /** Reported before the newest sweep. */
    earlier: stored.filter(({ toldSweepId }) => toldSweepId !== sweep.sweepId && known.has(toldSweepId)),
    /** Ids of those reported on an earlier look at this same night. */
    latest: stored.filter(({ toldSweepId }) => toldSweepId === sweep.sweepId).map(({ findingId }) => findingId),
    accepted,
  };
}

async function hasPassed(until: string | null, sweep: Sweep, io: Io): Promise<boolean> {
  if (until === null) return false;
  if (/^\d{4}-/.test(until)) return (sweep.startedAt ?? '').slice(0, 10) > until;
  return sweep.commit !== null && (await contains(io.cwd, sweep.commit, until));
}

function failedLatest(
  cells: readonly KeyedCell[],
  histories: readonly CellNights[],
  latest: ReturnType<typeof cellRunsOf>,
  { sweeps }: Night,
) {
  const runs = Map.groupBy(latest, ({ cellKey }) => cellKey);
  const sweepId = sweeps.at(-1)?.sweepId;
  return cells.flatMap((cell, index) => {
    if (histories[index]?.history.nights.at(-1) === sweeps.length - 1) return [];
    const outcomes = (runs.get(cell.key) ?? []).map(({ outcome }) => outcome);
    const leftOut = (histories[index]?.leftOut ?? []).filter((run) => run.sweepId === sweepId);
    const reasons = [...new Set([...failureSentences(outcomes), ...leftOut.map(({ reason }) => reason)])];
    return [{ cell, reasons: reasons.length === 0 ? ['no run'] : reasons }];
  });
}

function notesOf(histories: readonly CellHistory[], { sweeps }: Night): string[] {
  const undated = undatedNote(sweeps);
  const longest = Math.max(0, ...histories.map(({ history }) => history.nights.length));
  const notes = undated === null ? [] : [undated];
  if (longest < ALERTING.firstNight) {
    notes.push(
      `${longest} of ${ALERTING.firstNight} nights: before that a history does not know its own noise, and nothing is reported; until then use bench compare`,
    );
  }
  const elsewhere = Math.max(0, ...histories.map((cell) => cell.nightsOfOtherMachine));
  if (elsewhere > 0) {
    notes.push(
      `${count(elsewhere, 'night')} on another GPU model, TensorRT major or locked clock left out: bench compare A B --across-gpu --across-tensorrt --across-clocks`,
    );
  }
  return notes;
}
