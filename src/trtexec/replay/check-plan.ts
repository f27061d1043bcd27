import { basename } from 'node:path';

import type { Mistake } from '../../errors.ts';
import { type MatrixCell, onnxOf } from '../../matrix/matrix.ts';
import type { Plan, PlannedBuild, PlannedRun } from '../../records/plan.ts';
import { didYouMean } from '../../text/nearest.ts';
import { type RecordingSet, findRecordings, meaningOf } from './recording-set.ts';
import type { CellKey } from '../../records/scalars.ts';

/**
 * The parts of a plan that were never recorded, each with the nearest recording, and inputs that the recorded model
 * lacks.
 */
export function checkRecorded(set: RecordingSet, plan: Plan, cells: readonly MatrixCell[]): Mistake[] {
  const entries = new Map(cells.map((entry) => [entry.cell.key, entry]));
  const builds = new Map(plan.builds.map((build) => [build.buildRef, checkBuild(set, build)]));
  const mistakes: Mistake[] = [];
  // The matrix has a fixed order; that of the runs is random.
  for (const { cell, label } of plan.cells) {
    const entry = entries.get(cell.key);
    if (entry === undefined) continue;
    // A problem of a model is reported once, not for each of its cells.
    const ofModel = inputProblem(set, entry);
    if (ofModel !== null) {
      mistakes.push({ at: entry.at, problem: `${cell.model} ${cell.precision}: ${ofModel}` });
      continue;
    }
    for (const run of firstOfEachRole(plan, cell.key)) {
      const problem = runProblem(set, run, plan, builds.get(run.buildRef) ?? null);
      if (problem !== null) mistakes.push({ at: entry.at, problem: `${label}: ${problem}` });
    }
  }
  return [...new Map(mistakes.map((mistake) => [mistake.problem, mistake])).values()];
}

function firstOfEachRole({ runs }: Plan, cellKey: CellKey): PlannedRun[] {
  return (['timed', 'profile'] as const).flatMap(
    (role) => runs.find((run) => run.role === role && run.cellKey === cellKey) ?? [],
  );
}

/** Number of runs of a cell that a set can answer: no recording is used twice. */
export function recordedRuns(set: RecordingSet, plan: Plan, cellKey: CellKey): number {
  const run = plan.runs.find((planned) => planned.role === 'timed' && planned.cellKey === cellKey);
  const build = plan.builds.find(({ buildRef }) => buildRef === run?.buildRef);
  const meaning = run === undefined ? null : meaningOf(run.args);
  if (build === undefined || meaning === null) return 0;
  const match = findRecordings(set, meaning, checkBuild(set, build).build);
  return match.kind === 'found' ? match.recordings.length : 0;
}

interface CheckedBuild {
  readonly build: string | null;
  readonly problem: string | null;
}

function checkBuild(set: RecordingSet, build: PlannedBuild): CheckedBuild {
  const meaning = meaningOf(build.args);
  if (meaning === null) return { build: null, problem: 'recordings know no engines that were given' };
  const match = findRecordings(set, meaning, null);
  if (match.kind === 'found' && match.recordings.length < build.of) {
    const there = match.recordings.length;
    const problem = `"${set.name}" has ${there} recorded build${there === 1 ? '' : 's'} of this engine, ${build.of} were asked for`;
    return { build: null, problem };
  }
  return match.kind === 'found'
    ? { build: match.recordings[0]?.build ?? null, problem: null }
    : { build: null, problem: match.problem };
}

function runProblem(set: RecordingSet, run: PlannedRun, plan: Plan, checked: CheckedBuild | null): string | null {
  const meaning = meaningOf(run.args);
  if (checked === null || meaning === null) return null;
  if (checked.build === null) return checked.problem;
  const match = findRecordings(set, meaning, checked.build);
  if (match.kind === 'missing') return match.problem;
  const wanted = run.role === 'profile' ? 1 : plan.repeats;
  const there = match.recordings.length;
  return there >= wanted
    ? null
    : `"${set.name}" has ${there} recording${there === 1 ? '' : 's'} of this cell, ${wanted} were asked for: use --repeats ${there}`;
}

/** Replays ignore these flags; as part of a cell they would be wrong. */
const METHOD_FLAGS = ['--warmUp', '--duration', '--iterations'];

function inputProblem(set: RecordingSet, { build, cell, env, harness }: MatrixCell): string | null {
  if (harness !== null) {
    return `recordings answer for trtexec, and ${cell.model} is measured by ${harness.driver}: leave it out (--filter), or run without --replay`;
  }
  const [variable] = Object.keys(env);
  if (variable !== undefined) {
    return `${variable} is on an axis, and recordings answer the same whatever it is`;
  }
  const source = onnxOf(build.source);
  if (source === null) return null;
  const method = METHOD_FLAGS.find((flag) => flag in cell.axisFlags);
  if (method !== undefined) {
    return `${method} is on an axis, and recordings answer the same whatever it says: state it under run:`;
  }
  if (build.source.kind === 'converted') {
    return `recordings are answered, and nothing is converted: name the file that was recorded (precisions: {${cell.precision}: {onnx: FILE}})`;
  }
  const file = basename(source.value);
  const model = Object.values(set.models).find(({ onnx }) => file in onnx);
  if (model === undefined) {
    const files = Object.values(set.models).flatMap(({ onnx }) => Object.keys(onnx));
    return `"${set.name}" was not recorded with ${file} (it has ${files.join(', ')})`;
  }
  const inputs = Object.keys(model.inputs);
  for (const [input, shape] of Object.entries(cell.shapes)) {
    const recorded = model.inputs[input];
    if (recorded === undefined) {
      return `${file} has no input "${input}" (it has ${inputs.join(', ')})${didYouMean(input, inputs)}`;
    }
    const fits =
      shape.length === recorded.length &&
      recorded.every((dimension, place) => dimension === -1 || dimension === shape[place]);
    if (!fits) {
      return `${input} of ${file} is ${recorded.map((d) => (d === -1 ? '?' : d)).join('x')}, not ${shape.join('x')}`;
    }
  }
  return null;
}
