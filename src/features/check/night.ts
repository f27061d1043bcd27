import { cellsOfSweeps } from '../../selection/by-name.ts';
import {
  type CellNights,
  judgeCell,
  type JudgedCell,
  currentLevel,
  isWorseThanAccepted,
} from '../../judge/gate/judge-cell.ts';
import { ALERTING } from '../../judge/history/settings.ts';
import { type KeyedCell, variablesOf } from '../../records/cell.ts';
import { inLabelOrder } from '../../text/cell-label.ts';
import { knownVariablesOn } from '../../process/environment-variables.ts';
import { count } from '../../terminal/numbers.ts';
import { UsageError } from '../../errors.ts';
import type { Acknowledgement, Finding } from '../../records/finding.ts';
import { failureSentences } from '../../records/outcome.ts';
import type { Sweep } from '../../records/sweep.ts';
import { contains } from '../../tools/git/git.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { acknowledgementsOf, findingsOf } from '../../store/sweeps/findings.ts';
import { seriesOf, seriesUntil, sweepsUntil } from '../../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { type CellHistory, cellHistories } from '../../selection/cell-histories.ts';
import { metricNamed } from '../../selection/by-name.ts';
import type { Io } from '../../cli/io.ts';
import { resolveSide, undatedNote } from '../../selection/sides.ts';

/** A sweep with those before it in its series, the oldest first; the last one is tonight's. */
export interface Night {
  readonly sweep: Sweep;
  readonly sweeps: readonly Sweep[];
  /** How the series was chosen, where nobody named it; else null. */
  readonly note: string | null;
}

export interface FailedCell {
  readonly cell: KeyedCell;
  readonly reasons: readonly string[];
}

export interface JudgedNight {
  readonly cells: readonly JudgedCell[];
  readonly failed: readonly FailedCell[];
  /** Findings that an earlier look at this same night told, and this one does not. */
  readonly retracted: readonly string[];
  /** Findings that were accepted until now. */
  readonly endedAcknowledgements: readonly string[];
  readonly notes: readonly string[];
}

/** @param asOf a date, or what `compare` takes; the newest sweep when it is not given */
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
): Promise<JudgedNight> {
  const { sweepId } = night.sweep;
  const chosen = inLabelOrder(cellsOfSweeps(db, [sweepId], options.filter));
  const cells = chosen.filter((cell) => !isMeantAsLimit(cell));
  const keys = cells.map(({ key }) => key);
  const runs = cellRunsOf(db, [sweepId], keys);
  const histories = cellHistories(db, night.sweeps, cells, metricNamed(db, options.metric));
  const known = knownFindings(db, night);
  const judged: JudgedCell[] = [];
  const ended: string[] = [];
  for (const nights of histories) {
    const earlier = known.earlier.filter(
      ({ cellKey, metric }) => cellKey === nights.cell.key && metric === nights.metric,
    );
    const first = judgeCell(nights, night.sweeps, earlier);
    const level = currentLevel(nights, first.changes);
    const back = await endedAmong(earlier, known.acknowledgements, level, night.sweep, io);
    ended.push(...back);
    const result =
      back.length === 0
        ? first
        : judgeCell(
            nights,
            night.sweeps,
            earlier.filter(({ findingId }) => !back.includes(findingId)),
          );
    judged.push({ ...result, earlier: result.earlier.map((f) => accepted(f, known, ended)) });
  }
  const reported = new Set(judged.flatMap((entry) => entry.reported.map(({ findingId }) => findingId)));
  return {
    cells: judged,
    failed: failedLatest(cells, histories, runs, night),
    retracted: known.latest.filter((id) => !reported.has(id)),
    endedAcknowledgements: ended.filter((id) => reported.has(id)),
    notes: [...limitNotes(chosen.length - cells.length), ...notesOf(histories, night)],
  };
}

/** Cells that are barred by a variable on an axis of theirs: nobody uses them so, and they have no history to keep. */
function isMeantAsLimit({ axisFlags }: KeyedCell): boolean {
  return knownVariablesOn(variablesOf(axisFlags)).length > 0;
}

function limitNotes(cells: number): string[] {
  if (cells === 0) return [];
  const what = `${count(cells, 'cell')} under a profiling switch or as an upper bound`;
  return [`${what}: never judged`];
}

interface KnownFindings {
  /** Told before tonight. */
  readonly earlier: readonly Finding[];
  /** Ids of those told on an earlier look at this same night. */
  readonly latest: readonly string[];
  readonly acknowledgements: ReadonlyMap<string, Acknowledgement>;
}

function knownFindings(db: StoreDatabase, { sweep }: Night): KnownFindings {
  const stored = findingsOf(db, sweep);
  const ids = [...new Set(stored.map(({ toldSweepId }) => toldSweepId))];
  const known = sweepsUntil(db, ids, sweep);
  return {
    earlier: stored.filter(({ toldSweepId }) => toldSweepId !== sweep.sweepId && known.has(toldSweepId)),
    latest: stored.filter(({ toldSweepId }) => toldSweepId === sweep.sweepId).map(({ findingId }) => findingId),
    acknowledgements: acknowledgementsOf(
      db,
      stored.map(({ findingId }) => findingId),
    ),
  };
}

/** Accepted findings that are back: the time is over, or the level is much worse than what was accepted. */
async function endedAmong(
  findings: readonly Finding[],
  acknowledgements: ReadonlyMap<string, Acknowledgement>,
  level: number,
  sweep: Sweep,
  io: Io,
): Promise<string[]> {
  const ended: string[] = [];
  for (const finding of findings) {
    const acknowledgement = acknowledgements.get(finding.findingId);
    if (acknowledgement === undefined) continue;
    const isOver = await hasPassed(acknowledgement.until, sweep, io);
    if (isOver || isWorseThanAccepted(finding, acknowledgement, level)) {
      ended.push(finding.findingId);
    }
  }
  return ended;
}

async function hasPassed(until: string | null, sweep: Sweep, io: Io): Promise<boolean> {
  if (until === null) return false;
  if (/^\d{4}-/.test(until)) return (sweep.startedAt ?? '').slice(0, 10) > until;
  return sweep.commit !== null && (await contains(io.cwd, sweep.commit, until));
}

function accepted(finding: Finding, known: KnownFindings, ended: readonly string[]): Finding {
  const isAccepted =
    finding.state === 'open' && known.acknowledgements.has(finding.findingId) && !ended.includes(finding.findingId);
  return isAccepted ? { ...finding, state: 'accepted' } : finding;
}

function failedLatest(
  cells: readonly KeyedCell[],
  histories: readonly CellNights[],
  latest: ReturnType<typeof cellRunsOf>,
  { sweeps }: Night,
): FailedCell[] {
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
      `${longest} of ${ALERTING.firstNight} nights: before that a history does not know its own noise, and nothing is told; until then use bench compare`,
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
