import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import * as z from 'zod';

import { type Mistake, UsageError } from '../../errors.ts';
import type { MatrixCell } from '../../matrix/matrix.ts';
import { onnxOf } from '../../matrix/models/models.ts';
import { NEIGHBOR } from '../../records/axis.ts';
import type { Plan, PlannedRun } from '../../records/plan.ts';
import type { CellKey, Immutable } from '../../records/scalars.ts';
import { printable } from '../../text/printable.ts';
import { flagsOf } from '../flags/flag-table.ts';

/** One recorded process: a folder with `run.json`, logs and exports, possibly compressed. */
const recordingSchema = z.object({
  folder: z.string(),
  /** The build whose engine the run loaded; a build names itself. */
  build: z.string(),
  /** As `meaningOf` gives it. */
  meaning: z.unknown(),
  omitted: z.array(z.string()),
});

export type Recording = Immutable<z.infer<typeof recordingSchema>>;

/** A named set of recordings: `manifest.json` and the folders next to it. */
const recordingSetSchema = z.object({
  schemaVersion: z.literal(1),
  name: z.string(),
  tensorrt: z.string(),
  /** Sets of one pool were recorded with the same engines, so one can load what another built. */
  enginePool: z.string(),
  environment: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  /** The ONNX files from which the engines of a model were built, by file name. */
  models: z.record(z.string(), z.object({ onnx: z.record(z.string(), z.unknown()) })),
  recordings: z.array(recordingSchema),
});

export type RecordingSet = Immutable<z.infer<typeof recordingSetSchema>> & { readonly folder: string };

/** @throws UsageError if the folder has no readable manifest */
export function readRecordingSet(folder: string): RecordingSet {
  const path = join(folder, 'manifest.json');
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new UsageError(`${path}: manifest of recordings not found`, { cause: error });
  }
  const { data, error } = recordingSetSchema.safeParse(parsed);
  if (data !== undefined) return { ...data, folder };
  const place = error.issues[0]?.path.join('.') ?? '';
  throw new UsageError(`${path}: not a manifest of this version${place === '' ? '' : `: see ${printable(place)}`}`);
}

/** Recordings in the order they were made. `build` is the one whose engine a run loads. */
export function findRecordings(set: RecordingSet, meaning: Meaning, build: string | null): readonly Recording[] {
  const wanted = JSON.stringify(meaning);
  return set.recordings.filter(
    (recording) => (build === null || recording.build === build) && JSON.stringify(recording.meaning) === wanted,
  );
}

export function notRecorded({ name }: RecordingSet, { kind }: Meaning, there: number, wanted: number): string {
  const remedy = kind === 'build' || there === 0 ? '' : `: use --repeats ${there}`;
  return `"${name}" has ${there} of ${wanted} recordings of this ${kind === 'build' ? 'build' : `${kind} run`}${remedy}`;
}

/** The meaning of a trtexec command line in terms of 10.x, without paths, durations and outputs. */
export type Meaning = Immutable<NonNullable<ReturnType<typeof meaningOf>>>;

/** Flags for durations, verbosity and outputs, ignored when matching a recording. */
const IRRELEVANT = new Set(
  `--onnx --loadEngine --saveEngine --skipInference --profilingVerbosity --timingCacheFile
    --exportTimes --exportProfile --exportLayerInfo --dumpProfile --separateProfileRun --warmUp
    --duration --iterations --avgRuns --percentile --verbose --minShapes --optShapes --maxShapes
    --shapes --useCudaGraph --noDataTransfers --useSpinWait --infStreams`.split(/\s+/),
);

/** Null if a command line neither builds nor loads an engine, such as `--help`. */
export function meaningOf(args: readonly string[]) {
  const flags = flagsOf(args);
  // All other flags that decide what is built or measured, sorted by name.
  const others = [...flags]
    .filter(([flag]) => !IRRELEVANT.has(flag))
    .map(([flag, value]) => (value === '' ? flag : `${flag}=${value}`))
    .toSorted();
  const onnx = flags.get('--onnx');
  if (onnx !== undefined) {
    return {
      kind: 'build' as const,
      onnx: basename(onnx),
      minShapes: sortedShapes(flags.get('--minShapes')),
      optShapes: sortedShapes(flags.get('--optShapes')),
      maxShapes: sortedShapes(flags.get('--maxShapes')),
      flags: others,
    };
  }
  if (!flags.has('--loadEngine')) return null;
  return {
    kind: flags.has('--exportProfile') ? ('profile' as const) : ('timed' as const),
    shapes: sortedShapes(flags.get('--shapes')),
    cudaGraph: flags.has('--useCudaGraph'),
    dataTransfers: !flags.has('--noDataTransfers'),
    spinWait: flags.has('--useSpinWait'),
    streams: Number(flags.get('--infStreams') ?? 1),
    flags: others,
  };
}

function sortedShapes(shapes = ''): string {
  return shapes.split(',').toSorted().join(',');
}

/** The parts of a plan that were never recorded, and inputs that the recorded model lacks. */
export function checkRecorded(set: RecordingSet, plan: Plan, cells: readonly MatrixCell[]): Mistake[] {
  const entries = new Map(cells.map((entry) => [entry.cell.key, entry]));
  // The matrix has a fixed order; that of the runs is random.
  const mistakes = plan.cells.flatMap(({ cell, label }): Mistake[] => {
    const entry = entries.get(cell.key);
    if (entry === undefined) return [];
    // A problem of a model is reported once, not for each of its cells.
    const ofModel = inputProblem(set, entry);
    if (ofModel !== null) return [{ at: entry.at, problem: `${cell.model} ${cell.precision}: ${ofModel}` }];
    const runs = plan.runs.filter(({ cellKey, repeat }) => cellKey === cell.key && repeat === 1);
    const problems = runs.flatMap((run) => recordedFor(set, plan, run).problem ?? []);
    return problems.map((problem) => ({ at: entry.at, problem: `${label}: ${problem}` }));
  });
  return [...new Map(mistakes.map((mistake) => [mistake.problem, mistake])).values()];
}

/** Number of runs of a cell that a set can answer: no recording is used twice. */
export function recordedRuns(set: RecordingSet, plan: Plan, cellKey: CellKey): number {
  const run = plan.runs.find((planned) => planned.role === 'timed' && planned.cellKey === cellKey);
  return run === undefined ? 0 : recordedFor(set, plan, run).runs;
}

/** Number of recordings of a run with the first build of its engine, and why they are too few. */
function recordedFor(set: RecordingSet, plan: Plan, run: PlannedRun): { runs: number; problem: string | null } {
  const build = plan.builds.find(({ buildRef }) => buildRef === run.buildRef);
  const [built, meaning] = [build && meaningOf(build.args), meaningOf(run.args)];
  if (!built || !meaning) return { runs: 0, problem: 'recordings have no answer for a given engine' };
  const builds = findRecordings(set, built, null);
  const runs = findRecordings(set, meaning, builds[0]?.build ?? '').length;
  const [wantedBuilds, wanted] = [build?.of ?? 1, run.role === 'profile' ? 1 : plan.repeats];
  if (builds.length < wantedBuilds) return { runs, problem: notRecorded(set, built, builds.length, wantedBuilds) };
  return { runs, problem: runs < wanted ? notRecorded(set, meaning, runs, wanted) : null };
}

/** Axes that replay ignores: as part of a cell they would be wrong. */
const IGNORED = ['--warmUp', '--duration', '--iterations', NEIGHBOR];

function inputProblem(set: RecordingSet, { build, cell, env, harness }: MatrixCell): string | null {
  if (harness !== null) {
    return `recordings answer for trtexec, and ${cell.model} is measured by ${harness.driver}: leave it out (--filter), or run without --replay`;
  }
  const source = onnxOf(build.source);
  const ignored = [...Object.keys(env), ...IGNORED.filter((flag) => flag in cell.axisFlags)][0];
  if (ignored !== undefined) return `${ignored} is on an axis, and recordings answer the same whatever it is`;
  if (source === null) return null;
  if (build.source.kind === 'converted') {
    return `recordings are answered, and nothing is converted: name the file that was recorded (precisions: {${cell.precision}: {onnx: FILE}})`;
  }
  const file = basename(source.value);
  const files = Object.values(set.models).flatMap(({ onnx }) => Object.keys(onnx));
  return files.includes(file) ? null : `"${set.name}" was not recorded with ${file} (it has ${files.join(', ')})`;
}
