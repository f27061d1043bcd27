import { changeFrom } from './turns.ts';
import type { CellComparison } from '../../records/verdict.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { formatPercent } from '../../terminal/numbers.ts';
import { findSweep } from '../../store/sweeps/sweeps.ts';
import type { Measurements } from './measurements.ts';
import type { BisectOutput } from './output.ts';
import type { SearchEnd } from './search.ts';
import type { Session } from './session.ts';
import type { Side } from './side.ts';
import type { Task } from './subject.ts';

/** From so much on it is worth a note that the machine moved. */
const DRIFT_PERCENT = 0.5;

export function reportOf(session: Session, task: Task, found: Measurements, end: SearchEnd): BisectOutput {
  const { bisectId, request, steps } = session.state();
  const { search } = request;
  const { good, bad, metric } = found;
  const against = (base: Side, side: Side | null): CellComparison | null =>
    side === null ? null : changeFrom(found.valuesOf(base), found.valuesOf(side), metric.betterIs);
  const judged = steps.flatMap((step) => {
    const side = found.sideWithKey(step.candidate);
    return step.verdict === null || side === null ? [] : [{ ...step, verdict: step.verdict, side }];
  });
  const names = 'names' in end ? end.names : [];
  const sides = [good, bad, ...judged.map(({ side }) => side)];
  const refs = search.kind === 'commits' ? [search.goodRef, search.badRef] : [];
  return {
    schemaVersion: 1,
    kind: search.kind,
    status: end.kind,
    bisectId,
    provenance: findSweep(session.store.db, good.sweepId)?.provenance ?? null,
    good: endOf(good, refs[0], task),
    bad: endOf(bad, refs[1], task),
    runs: sides.reduce((sum, { runs }) => sum + runs.length, 0),
    notes: [...('reason' in end ? [end.reason] : []), ...driftNote(steps), ...restNote(names, task, found, against)],
    key: found.cell?.key ?? null,
    label: found.cell === null ? null : cellLabel(found.cell),
    metric: metric.id,
    unit: metric.unit,
    betterIs: metric.betterIs,
    change: evidenceOf(against(good, bad)),
    causes: names.map((name) => ({
      name,
      subject: task.subjectOf(name),
      evidence: evidenceOf(against(good, found.sideWithKey(task.keyOf(name)))),
    })),
    steps: judged.map(({ candidate, reason, side, verdict }) => ({
      candidate: task.namesOf(candidate),
      subject: task.subjectOf(candidate),
      verdict,
      reason,
      sweepId: side.sweepId,
      evidence: evidenceOf(against(good, side)),
    })),
  };
}

function evidenceOf(comparison: CellComparison | null): BisectOutput['change'] {
  if (comparison === null) return null;
  const { base, head, changePercent, ciPercent, mdePercent, runs } = comparison;
  return { base, head, changePercent, ciPercent, mdePercent, runs };
}

function endOf(side: Side, ref: string | undefined, task: Task): BisectOutput['good'] {
  const { subject, sweepId } = side;
  const { commit } = subject.git;
  return { ref: ref ?? null, commit, subject: commit === null ? null : task.subjectOf(commit), sweepId };
}

function driftNote(steps: readonly { readonly driftPercent: number | null }[]): string[] {
  const drifts = steps.map(({ driftPercent }) => Math.abs(driftPercent ?? 0));
  const most = Math.max(0, ...drifts);
  return most < DRIFT_PERCENT
    ? []
    : [`the machine moved by up to ${formatPercent(most, false)} meanwhile; that was taken off`];
}

/** Whether what was found explains all of the change. */
function restNote(
  names: readonly string[],
  task: Task,
  found: Measurements,
  against: (base: Side, side: Side | null) => CellComparison | null,
): string[] {
  const [name] = names;
  const cause = name === undefined || names.length > 1 ? null : found.sideWithKey(task.keyOf(name));
  if (cause === null || cause === found.bad) return [];
  const rest = against(cause, found.bad);
  if (rest?.verdict !== 'slower') return [];
  return [
    `there is more than this: the bad end is another ${formatPercent(rest.changePercent, false)} worse; go on from here with it as GOOD`,
  ];
}
