import { buildDifferences, environmentDifferences } from '../../judge/compare/differences.ts';
import type { FindingGroup, LocatedFinding } from '../../judge/gate/group-findings.ts';
import type { JudgedCell } from '../../judge/gate/judge-cell.ts';
import type { FirstCause } from '../../records/cause.ts';
import type { NightRun } from '../../judge/value-rule.ts';
import { metricOf } from '../../records/metric.ts';
import { cellLabel } from '../../text/cell-label.ts';
import type { Sweep } from '../../records/sweep.ts';
import { commitsBetween } from '../../tools/git/git.ts';
import { findBuilds, findEnvironments } from '../../store/sweeps/environments.ts';
import { sweepsById } from '../../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import type { CheckedFinding, CheckedGroup } from './output.ts';
import type { Io } from '../../cli/io.ts';

const LISTED_COMMITS = 50;

/** A group with what lies between its last good and its first bad night. */
export async function explainGroup(
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

export function findingOutput({ finding, cell }: LocatedFinding): CheckedFinding {
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

/** Changes that every cell of the group has seen on that night. */
function changesOf(db: StoreDatabase, group: FindingGroup, cells: readonly JudgedCell[]): string[] {
  const ofEach = group.findings.map(({ finding, cell }) => {
    const nights = cells.find((entry) => entry.nights.cell.key === cell.key)?.nights;
    const runOf = (sweepId: string | null): NightRun | undefined =>
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
