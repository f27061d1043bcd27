import type { Finding } from '../../records/finding.ts';
import { candidatesOf } from './candidates.ts';
import { type CellChange, mainOf } from './cell-change.ts';
import { CellWords } from './cell-words.ts';
import type { CellEvidence, SweepEvidence } from './evidence.ts';
import { judgeYoung, type YoungCell } from './few-sweeps.ts';
import { joinGroups, judgeGroupsOf } from './group-changes.ts';
import { hasHistory, judgeHistory } from './history-changes.ts';
import { judgedCells } from './judged-cells.ts';
import { KnownFindings } from './known-findings.ts';
import { limitFindings } from './limit-findings.ts';
import { valuesAt } from './values-at.ts';
import { mergeFindings } from './merge-findings.ts';
import { isReopened, type WeighedCell } from './next-state.ts';
import { isSteady, steadyChanges } from './steady-metrics.ts';
import type { SweepVerdict } from './verdict.ts';
import { weighChanges } from './weigh-changes.ts';
import { withoutPlaces, withoutSweeps } from './without-sweeps.ts';

/** What is worse, or better, in the newest sweep than it should be. The same evidence gives the same verdict. */
export function judgeSweep(given: SweepEvidence): SweepVerdict {
  const { rules, sweeps } = given;
  const judged = sweeps.length - 1;
  const known = new KnownFindings(given.findings, sweeps);
  // Sweeps in which the machine was slow are no part of a cell's level.
  const cells = given.cells.map((cell) => withoutSweeps(cell, known.machinePlaces(cell.cell.key)));
  const evidence = { ...given, cells };
  const byKey = new Map(cells.map((cell) => [cell.cell.key, { evidence: cell, histories: new Map() }]));
  const reopened = new Set(
    known.all
      .filter((entry) => isReopened(entry, given.acknowledged.get(entry.finding.findingId), byKey, judged))
      .map(({ finding }) => finding.findingId),
  );
  const weighed = cells.map((cell) => judgeCell(cell, known, reopened, judged));
  const young = judgeAllYoung(cells, known, judged);
  const changes = [...weighed.flatMap((cell) => cell.changes), ...young.changes];
  const words = new CellWords(evidence);
  const groups = judgeGroupsOf(weighed, evidence, known, words);
  const suspects = candidatesOf(weighed, young.suspects, changes, groups.candidates, { known, words, sweeps });
  const accepted = new Set([...given.acknowledged.keys()].filter((id) => !reopened.has(id)));
  const reported = weighChanges(joinGroups(changes, groups.changes), evidence, known, words, suspects).filter(
    (change) =>
      Math.abs(change.changePercent) >= rules.minChangeOf(change.cellKey, change.metric) && !known.takesBack(change),
  );
  const findings = [
    ...mergeFindings(reported, evidence, known, words, { cells: weighed, reopened, judged }),
    ...limitsOf(evidence),
  ];
  return {
    judgedBy: judgedByOf(cells, judged),
    findings,
    endedAcknowledgements: [...reopened],
    cells: judgedCells(cells, findings, accepted, judged),
    candidates: suspects.candidates,
  };
}

interface CellWithChanges extends WeighedCell {
  readonly changes: readonly CellChange[];
}

function judgeCell(
  evidence: CellEvidence,
  known: KnownFindings,
  reopened: ReadonlySet<string>,
  judged: number,
): CellWithChanges {
  const { key } = evidence.cell;
  const steady = evidence.metrics.filter(({ metric }) => isSteady(metric));
  const histories = evidence.metrics
    .filter((measured) => !isSteady(measured.metric) && hasHistory(measured))
    .map((measured) => judgeHistory(evidence, measured, judged, known.ofMetric(key, measured.metric, reopened)));
  return {
    evidence,
    histories: new Map(histories.map((history) => [history.metric, history])),
    changes: [
      ...steady.flatMap((measured) =>
        steadyChanges(evidence, measured, known.reportedOf(key, measured.metric), judged),
      ),
      ...histories.flatMap(({ changes }) => changes),
    ],
  };
}

/** Cells and metrics without enough history, all cells of a metric at once. */
function judgeAllYoung(cells: readonly CellEvidence[], known: KnownFindings, judged: number) {
  const young = cells.flatMap((evidence) =>
    evidence.metrics
      .filter((measured) => !isSteady(measured.metric) && !hasHistory(measured))
      .map((measured): YoungCell => {
        const isUnexpected = known.isUnexpected(evidence.cell.key, measured.metric);
        const places = measured.history.nights.filter((place) => place < judged && isUnexpected(place));
        return { evidence, measured: withoutPlaces(measured, places) };
      }),
  );
  const byMetric = Map.groupBy(young, ({ measured }) => measured.metric);
  const verdicts = [...byMetric].map(([metric, own]) => judgeYoung(metric, own, judged));
  return {
    changes: verdicts.flatMap(({ changes }) => changes),
    suspects: verdicts.flatMap(({ suspects }) => suspects),
  };
}

/** Limits that people set hold in every sweep, also in the first one. */
function limitsOf({ acknowledged, cells, findings, rules, sweeps }: SweepEvidence): Finding[] {
  const known = findings.filter(({ kind }) => kind === 'limit');
  const series = sweeps.at(-1);
  if (series === undefined || (rules.limited.length === 0 && known.length === 0)) return [];
  const [first, ...others] = sweeps.map(({ sweepId }, place) => ({
    sweepId,
    values: valuesAt(cells, rules.limited, place),
  }));
  return first === undefined ? [] : limitFindings({ rules, sweeps: [first, ...others], known, acknowledged, series });
}

function judgedByOf(cells: readonly CellEvidence[], judged: number): SweepVerdict['judgedBy'] {
  const mains = cells.flatMap((cell) => mainOf(cell) ?? []);
  if (mains.some(hasHistory)) return 'history';
  // On another machine every cell begins anew.
  const areNew = mains.length > 0 && mains.every(({ history }) => history.nights[0] === judged);
  return judged === 0 || areNew ? 'first' : 'previousSweep';
}
