import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { cellOf, isUnnamed, roleOf, toRunRecord } from '../artefacts/read/identify.ts';
import type { ReadRun } from '../artefacts/read/read-run.ts';
import { readLayerFile, readSource } from '../artefacts/read/read-source.ts';
import { NOTHING_STATED, type StandaloneReading } from '../artefacts/read/read-standalone.ts';
import { type Io, yieldToEventLoop } from '../cli/io.ts';
import { migrationsFolder, toolVersion } from '../cli/store-location.ts';
import { UsageError } from '../errors.ts';
import type { KeyedCell, Shapes } from '../records/cell.ts';
import { type Sweep, newSweep } from '../records/sweep.ts';
import { type OpenStore, openStore } from '../store/file/open.ts';
import { RunWriter } from '../store/runs/save-run.ts';
import { saveSweep } from '../store/sweeps/sweeps.ts';
import { hashOf } from '../text/canonical-json.ts';
import { printable } from '../text/printable.ts';
import { findRuns, nothingIn } from './find-runs.ts';

/** Imports the runs under some paths into a temporary store, as one sweep per path. */
export async function withRunsOf<Result>(
  paths: readonly string[],
  io: Io,
  work: (store: OpenStore, sweeps: readonly Sweep[], notes: readonly (string | null)[]) => Result | Promise<Result>,
): Promise<Result> {
  const store = openStore(':memory:', migrationsFolder());
  try {
    const writer = new RunWriter(store.db);
    const sweeps: Sweep[] = [];
    const sides = await comparableRuns(paths, io);
    for (const [place, { path, runs }] of sides.entries()) {
      await yieldToEventLoop(io);
      const sweep = sweepOf(path, place, runs);
      saveSweep(store.db, sweep, null);
      saveRuns(writer, sweep, runs);
      sweeps.push(sweep);
    }
    await yieldToEventLoop(io);
    const notes = sides.map(({ note }) => note);
    return await work(store, sweeps, notes);
  } finally {
    store.close();
  }
}

interface PathRuns {
  readonly path: string;
  readonly runs: readonly ReadRun[];
  readonly note: string | null;
}

async function comparableRuns(paths: readonly string[], io: Io): Promise<readonly PathRuns[]> {
  const sides: PathRuns[] = [];
  for (const path of paths) sides.push({ path, runs: await runsUnder(path, io), note: null });
  const [a, b] = sides;
  if (a === undefined || b === undefined || sides.length > 2) return sides;
  const aligned = [await likeOther(a, b, io), await likeOther(b, a, io)] as const;
  const note = otherModels(aligned[0].runs, aligned[1].runs);
  return note === null ? aligned : aligned.map((side, place) => (place === 0 ? { ...side, note } : side));
}

/** A note on models that only one of two paths has, so that they cannot be compared; null if there are none. */
function otherModels(base: readonly ReadRun[], head: readonly ReadRun[]): string | null {
  const [was, is] = [modelsOf(base), modelsOf(head)];
  if (was.size === 0 || is.size === 0) return null;
  const common = new Set([...was].filter((model) => is.has(model)));
  if (common.size > 0) {
    const unshared = [...was, ...is].filter((model) => !common.has(model));
    return unshared.length === 0
      ? null
      : `on one side only: ${unshared.map(printable).join(', ')}; what both have: --filter 'model=${[...common].map(printable).join()}'`;
  }
  const named = [was, is].map((models) => [...models].map(printable).join(', '));
  return `no model is on both sides: ${named.join(' against ')}; a log's model has the name of its engine or ONNX file if nothing else names it: \`bench import\` each with the same --model and a --sweep of its own, and compare the sweeps`;
}

function modelsOf(runs: readonly ReadRun[]): Set<string> {
  return new Set(runs.filter((run) => roleOf(run) === 'timed').map((run) => cellOf(run).model));
}

async function likeOther(side: PathRuns, other: PathRuns, io: Io): Promise<PathRuns> {
  const borrowed = borrowedFor(side.path, side.runs, other.path, other.runs);
  if (borrowed === null) return side;
  const { stated, note } = borrowed;
  return { path: side.path, runs: await runsUnder(side.path, io, { ...NOTHING_STATED, stated }), note };
}

/**
 * Every run in a folder, a log, a report, or a file of layers.
 * @param standalone hints for files outside of run folders
 */
export async function runsUnder(
  named: string,
  io: Io,
  standalone: StandaloneReading = NOTHING_STATED,
): Promise<ReadRun[]> {
  const path = resolve(io.cwd, named);
  const sources = await findRuns(path, io);
  const mayBeExport =
    !statSync(path).isDirectory() && sources.every((source) => source.kind === 'layers' && source.format === 'trtexec');
  const layers = mayBeExport ? await readLayerFile(path) : null;
  if (layers !== null) return [layers];
  const runs: ReadRun[] = [];
  for (const source of sources) {
    io.signal.throwIfAborted();
    runs.push(...(await readSource(source, standalone, { signal: io.signal })).map(withoutFileName));
  }
  // A folder may hold only exports.
  if (runs.length === 0 && statSync(path).isDirectory()) {
    const exported = readdirSync(path).filter((file) => /^(?:profile|layers)\.json/.test(file));
    for (const file of exported.toSorted().toReversed()) {
      const run = await readLayerFile(join(path, file));
      if (run !== null) return [run];
    }
  }
  if (runs.length === 0) throw new UsageError(nothingIn(named));
  const ofSweeps = runs.filter((run) => roleOf(run) !== 'pair');
  // Exclude runs of pairs, unless the user named the folder of just that run.
  return ofSweeps.length === 0 ? runs : ofSweeps;
}

/** Two logs without a model share a cell here, because whoever compares two files means that. */
function withoutFileName(run: ReadRun): ReadRun {
  if (!isUnnamed(run)) return run;
  return { ...run, manifest: { ...run.manifest, cell: { ...run.manifest.cell, model: 'unnamed' } } };
}

function sweepOf(path: string, place: number, [first]: readonly ReadRun[]): Sweep {
  return newSweep({
    sweepId: hashOf({ path, place }),
    source: 'import',
    name: printable(path),
    provenance: first?.manifest.provenance ?? 'imported',
    state: 'finished',
    toolVersion: toolVersion(),
  });
}

function saveRuns(writer: RunWriter, { sweepId }: Sweep, runs: readonly ReadRun[]): void {
  const repeats = new Map<string, number>();
  runs.forEach((run, place) => {
    const key = `${roleOf(run)} ${roleOf(run) === 'build' ? '' : cellOf(run).key}`;
    const repeat = (repeats.get(key) ?? 0) + 1;
    repeats.set(key, repeat);
    writer.saveRun(
      toRunRecord(run, {
        // The same file may be named on both sides, so each side gets its own ID.
        runId: hashOf({ sweepId, place, run: run.contentId }),
        sweepId,
        repeat,
        artefactFolder: null,
      }),
    );
  });
}

/**
 * Standalone reports state little about their cells. One of two compared reports takes precision and shapes from the
 * other; null if there is nothing to take.
 */
function borrowedFor(name: string, runs: readonly ReadRun[], otherName: string, others: readonly ReadRun[]) {
  if (![...runs, ...others].every(({ manifest }) => manifest.lone?.kind === 'report')) return null;
  const [own, other] = [runs.map(cellOf), others.map(cellOf)];
  const precision = own.every(isUnstated) ? only(other.map((cell) => cell.precision)) : null;
  const hasPrecision = precision !== null && precision !== 'unstated';
  const shapes = own.every(hasNoShapes) ? onlyShapes(other) : null;
  const words = [hasPrecision ? ['precision'] : [], shapes === null ? [] : ['shapes']].flat();
  if (words.length === 0) return null;
  return {
    stated: { ...(hasPrecision ? { precision } : {}), ...(shapes === null ? {} : { shapes }) },
    note: `${printable(name)} does not state its ${words.join(' and ')}: taken from ${printable(otherName)}`,
  };
}

function isUnstated({ precision }: KeyedCell): boolean {
  return precision === 'unstated';
}

function hasNoShapes({ shapes }: KeyedCell): boolean {
  return Object.keys(shapes).length === 0;
}

function only<Value>(values: readonly Value[]): Value | null {
  const [first] = values;
  return first !== undefined && new Set(values).size === 1 ? first : null;
}

function onlyShapes(cells: readonly KeyedCell[]): Shapes | null {
  const [first] = cells;
  if (first === undefined || hasNoShapes(first)) return null;
  const text = only(cells.map(({ shapes }) => JSON.stringify(shapes)));
  return text === null ? null : first.shapes;
}
