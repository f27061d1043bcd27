import { writeFindings } from '../../artefacts/findings-file.ts';
import { artefactsFolderOf } from '../../artefacts/layout.ts';
import { failOn } from '../../cli/options.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { regressionAmong } from '../../judge/accuracy-drop.ts';
import { groupFindings, type LocatedFinding, type FindingGroup } from '../../judge/gate/group-findings.ts';
import type { JudgedCell } from '../../judge/gate/judge-cell.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { Finding } from '../../records/finding.ts';
import { metricOf } from '../../records/metric.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { recordsByCell } from '../../store/runs/accuracies.ts';
import { saveVerdict } from '../../store/sweeps/findings.ts';
import { aboutCell, cellLabel } from '../../text/cell-label.ts';
import type { CheckOptions } from './command.ts';
import { type JudgedNight, judgeNight, type Night, nightAt } from './night.ts';
import { gateFinding } from './one-cell-finding.ts';
import type { CheckedSweep, CheckedFinding, CheckedGroup } from './output.ts';
import { checkText } from './text.ts';
import { buildDifferences, environmentDifferences } from '../../judge/compare/differences.ts';
import type { FirstCause } from '../../records/cause.ts';
import type { NightRun } from '../../judge/value-rule.ts';
import type { Sweep } from '../../records/sweep.ts';
import { commitsBetween } from '../../tools/git/git.ts';
import { findBuilds, findEnvironments } from '../../store/sweeps/environments.ts';
import { sweepsById } from '../../store/sweeps/find-sweeps.ts';
import type { SweepId } from '../../records/scalars.ts';

export async function check(options: CheckOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async (store) => {
    const { db } = store;
    const night = await nightAt(db, options, io);
    const judged = await judgeNight(db, night, options, io);
    const reported = judged.cells.flatMap((entry) => entry.reported);
    // Checks of an old sweep, of some cells or of another metric change nothing.
    if (options.asOf === undefined && options.filter === undefined && options.metric === undefined) {
      if (store.isReadOnly) {
        io.err('note: the store may only be read here: what this check says was not recorded\n');
      } else {
        const earlier = judged.cells.flatMap((entry) => entry.earlier);
        saveVerdict(db, {
          judged: { sweepId: night.sweep.sweepId, judgedAt: io.now().toISOString(), judgedBy: 'history' },
          findings: [...earlier, ...reported].map(gateFinding),
          retracted: judged.retracted,
          endedAcknowledgements: judged.endedAcknowledgements,
        });
        const touched = [...earlier, ...reported].map(({ toldSweepId }) => toldSweepId);
        await writeFindings(db, artefactsFolderOf(store.path), [night.sweep.sweepId, ...touched]);
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

/** Stores nothing. */
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
  const lastGood = history.nights[history.nights.length - 1 - off.sweeps];
  const sweepId = lastGood === undefined ? undefined : sweeps[lastGood]?.sweepId;
  const { sweeps: count, before, now, changePercent, deviations } = off;
  const suspected = { nights: count, before, now, changePercent, deviations };
  return [
    { ...aboutCell(cell, metric), ...suspected, runs: runs.at(-1)?.length ?? 0, lastGoodSweepId: sweepId ?? null },
  ];
}

function located({ nights }: JudgedCell, findings: readonly Finding[], { sweeps }: Night): LocatedFinding[] {
  return findings.map((finding) => ({
    finding,
    cell: nights.cell,
    night: sweeps.findIndex(({ sweepId }) => sweepId === finding.firstBadSweepId),
  }));
}

/**
 * Accuracies of the newest sweep's files next to those of the last night on which there were any: a model is as accurate on every
 * run, so one night is enough, and a fall is reported on the night on which its file came.
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

const LISTED_COMMITS = 50;

/** A group with what lies between its last good and its first bad night. */
async function explainGroup(
  db: StoreDatabase,
  group: FindingGroup,
  cells: readonly JudgedCell[],
  io: Io,
): Promise<CheckedGroup> {
  const { direction, findings, shared } = group;
  const [first] = findings;
  const ids = [first?.finding.lastGoodSweepId ?? [], first?.finding.firstBadSweepId ?? []].flat();
  const sweeps = sweepsById(db, ids);
  const sweepNamed = (id: string | null | undefined): Sweep | null =>
    sweeps.find(({ sweepId }) => sweepId === id) ?? null;
  const lastGood = sweepNamed(first?.finding.lastGoodSweepId);
  const firstBad = sweepNamed(first?.finding.firstBadSweepId);
  const [from, to] = [lastGood?.commit ?? null, firstBad?.commit ?? null];
  const isBetween = from !== null && to !== null && from !== to;
  return {
    direction,
    shared,
    lastGood: sweepOutput(lastGood),
    firstBad: sweepOutput(firstBad),
    commits: isBetween ? await commitsBetween(io.cwd, from, to, LISTED_COMMITS) : [],
    changes: changesOf(db, group, cells),
    cause: lastGood === null || firstBad === null ? null : await causeOf(db, group, lastGood, firstBad),
    findings: findings.map(findingOutput),
  };
}

function sweepOutput(sweep: Sweep | null): CheckedGroup['lastGood'] {
  if (sweep === null) return null;
  const { sweepId, startedAt, commit, dirty } = sweep;
  return { sweepId, startedAt, commit, dirty };
}

function findingOutput({ finding, cell }: LocatedFinding): CheckedFinding {
  const { findingId, metric, direction, changePercent, margin, before, after, state } = finding;
  const { firstBadSweepId, toldSweepId } = finding;
  const { unit, betterIs } = metricOf(metric);
  const about = { id: findingId, key: cell.key, label: cellLabel(cell), metric, unit, betterIs };
  return { ...about, direction, changePercent, margin, before, after, state, firstBadSweepId, toldSweepId };
}

async function causeOf(
  db: StoreDatabase,
  { findings }: FindingGroup,
  lastGood: Sweep,
  firstBad: Sweep,
): Promise<FirstCause | null> {
  const [clearest] = findings;
  if (clearest === undefined) return null;
  const { cell } = clearest;
  const pointOf = ({ sweepId }: Sweep) => ({ cell, sweepIds: [sweepId], runId: null, name: sweepId.slice(0, 8) });
  const { firstCauseOf } = await import('../why/index.ts');
  return firstCauseOf(db, pointOf(lastGood), pointOf(firstBad), clearest.finding.metric);
}

/** Changes recorded for every cell of the group. */
function changesOf(db: StoreDatabase, group: FindingGroup, cells: readonly JudgedCell[]): string[] {
  const ofEach = group.findings.map(({ finding, cell }) => {
    const nights = cells.find((entry) => entry.nights.cell.key === cell.key)?.nights;
    const runOf = (sweepId: SweepId | null): NightRun | undefined =>
      nights?.runs.flat().findLast((run) => run.sweepId === sweepId);
    const [before, after] = [runOf(finding.lastGoodSweepId), runOf(finding.firstBadSweepId)];
    return before === undefined || after === undefined ? [] : differences(db, before, after);
  });
  const [first = [], ...others] = ofEach;
  return first.filter((change) => others.every((changes) => changes.includes(change)));
}

function differences(db: StoreDatabase, before: NightRun, after: NightRun): string[] {
  const found: string[] = [];
  const environments = findEnvironments(db, [before.environmentId, after.environmentId]);
  const [was, is] = [environments.get(before.environmentId), environments.get(after.environmentId)];
  if (was !== undefined && is !== undefined) found.push(...environmentDifferences(was, is));
  if (before.buildId === null || after.buildId === null || before.buildId === after.buildId) {
    return found;
  }
  const builds = findBuilds(db, [before.buildId, after.buildId]);
  const differing = buildDifferences(builds.get(before.buildId) ?? null, builds.get(after.buildId) ?? null);
  return [...found, ...(differing.length > 0 ? differing : ['the engines were built anew'])];
}
