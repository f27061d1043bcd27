import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

import type { RunSource } from '../artefacts/read/discover.ts';
import { cellOf, isUnnamed, roleOf, toRunRecord } from '../artefacts/read/identify.ts';
import type { ReadRun } from '../artefacts/read/read-run.ts';
import { NOTHING_STATED, readSource, type StandaloneReading } from '../artefacts/read/read-source.ts';
import { type Io, yieldToEventLoop } from '../cli/io.ts';
import { migrationsFolder, toolVersion } from '../cli/store-location.ts';
import { UsageError } from '../errors.ts';
import { layersOf, type ProfiledEngine, profileOf } from '../layers/profiled-engine.ts';
import type { KeyedCell } from '../records/cell.ts';
import { type Sweep, newSweep } from '../records/sweep.ts';
import { type OpenStore, openStore } from '../store/file/open.ts';
import { RunWriter } from '../store/runs/save-run.ts';
import { saveSweep } from '../store/sweeps/sweeps.ts';
import { hashOf } from '../text/canonical-json.ts';
import { printable } from '../text/printable.ts';
import { instantOf } from '../text/utc-instant.ts';
import { findRuns, nothingIn } from './find-runs.ts';
import { labelOf, overlapNotes } from './profiled-engine.ts';

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
      const sweep = newSweep({
        sweepId: hashOf({ path, place }),
        source: 'import',
        name: printable(path),
        provenance: runs[0]?.manifest.provenance ?? 'imported',
        state: 'finished',
        toolVersion: toolVersion(),
      });
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
  const [base, head] = [await likeOther(a, b, io), await likeOther(b, a, io)];
  return [{ ...base, note: otherModels(base.runs, head.runs) ?? base.note }, head];
}

/** A note on models that only one of two paths has, so that they cannot be compared; null if there are none. */
function otherModels(base: readonly ReadRun[], head: readonly ReadRun[]): string | null {
  const [was, is] = [modelsOf(base), modelsOf(head)];
  const common = was.filter((model) => is.includes(model));
  const unshared = [...was, ...is].filter((model) => !common.includes(model));
  if (was.length === 0 || is.length === 0 || unshared.length === 0) return null;
  const both = common.length === 0 ? '' : `; what both have: --filter 'model=${common.join()}'`;
  return `on one side only: ${unshared.join(', ')}${both}; to compare them: \`bench import\` each with the same --model and a --sweep of its own`;
}

function modelsOf(runs: readonly ReadRun[]): string[] {
  const models = runs.filter((run) => roleOf(run) === 'timed').map((run) => cellOf(run).model);
  return [...new Set(models)].map(printable);
}

/**
 * Standalone reports state little about their cells. One of two compared reports takes precision and shapes from the
 * other.
 */
async function likeOther(side: PathRuns, other: PathRuns, io: Io): Promise<PathRuns> {
  if (![...side.runs, ...other.runs].every(({ manifest }) => manifest.lone?.kind === 'report')) return side;
  const [own, others] = [side.runs.map(cellOf), other.runs.map(cellOf)];
  const common = <Value>(of: (cell: KeyedCell) => Value | null): Value | null => {
    const values = others.map(of);
    const isOne = new Set(values.map((value) => JSON.stringify(value))).size === 1;
    return own.every((cell) => of(cell) === null) && isOne ? (values[0] ?? null) : null;
  };
  const precision = common((cell) => (cell.precision === 'unstated' ? null : cell.precision));
  const shapes = common((cell) => (Object.keys(cell.shapes).length === 0 ? null : cell.shapes));
  const stated = { ...(precision === null ? {} : { precision }), ...(shapes === null ? {} : { shapes }) };
  const words = Object.keys(stated).join(' and ');
  if (words === '') return side;
  const note = `${printable(side.path)} does not state its ${words}: taken from ${printable(other.path)}`;
  return { path: side.path, runs: await runsUnder(side.path, io, { ...NOTHING_STATED, stated }), note };
}

const EXPORTED = /^(?:profile|layers)\.json(?:\.(?:gz|zst|br))?$/;

/**
 * Every run in a folder, a log, a report, or a file of layers.
 * @param standalone hints for files outside of run folders
 */
async function runsUnder(named: string, io: Io, standalone: StandaloneReading = NOTHING_STATED) {
  const path = resolve(io.cwd, named);
  const found = await findRuns(path, io);
  // A folder may hold only exports.
  const isFolder = found.length === 0 && statSync(path).isDirectory();
  const [exported] = isFolder
    ? readdirSync(path)
        .filter((file) => EXPORTED.test(file))
        .toSorted()
        .toReversed()
    : [];
  const sources: readonly RunSource[] =
    exported === undefined ? found : [{ kind: 'layers', path: join(path, exported), format: 'trtexec' }];
  const runs: ReadRun[] = [];
  for (const source of sources) {
    io.signal.throwIfAborted();
    runs.push(...(await readSource(source, standalone, { signal: io.signal })).map(withoutFileName));
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

function saveRuns(writer: RunWriter, { sweepId }: Sweep, runs: readonly ReadRun[]): void {
  const repeats = new Map<string, number>();
  runs.forEach((run, place) => {
    const key = `${roleOf(run)} ${roleOf(run) === 'build' ? '' : cellOf(run).key}`;
    const repeat = (repeats.get(key) ?? 0) + 1;
    repeats.set(key, repeat);
    // The same file may be named on both sides, so each side gets its own ID.
    const runId = hashOf({ sweepId, place, run: run.contentId });
    writer.saveRun(toRunRecord(run, { runId, sweepId, repeat, artefactFolder: null }));
  });
}

/** The layers of the newest profile in a file or folder. @param tracedRuns number of runs that a trace without it sums */
export async function profiledPath(path: string, io: Io, tracedRuns?: number): Promise<ProfiledEngine | null> {
  const runs = await runsUnder(path, io, { ...NOTHING_STATED, runs: tracedRuns ?? null });
  const engines = runs.map((run) => engineOf(run, path)).filter((engine) => engine !== null);
  const timed = engines.filter(({ iterations }) => iterations !== null);
  if (new Set(timed.map((engine) => engine.cellLabel)).size > 1) {
    throw new UsageError(`${printable(path)} has profiles of several cells: name the folder of one`);
  }
  return timed.at(-1) ?? engines.at(-1) ?? null;
}

function engineOf(run: ReadRun, ref: string): ProfiledEngine | null {
  const { contentId, log, manifest, telemetry } = run;
  const { environment, lone: standalone } = manifest;
  const layers = layersOf(run);
  if (layers === null) return null;
  const cell = cellOf(run);
  const profile = profileOf(run);
  return {
    ref,
    runId: manifest.runId ?? contentId,
    sweepId: manifest.sweepId,
    cellKey: cell.model === 'unnamed' ? null : cell.key,
    cellLabel: labelOf(cell),
    cudaGraph: cell.cudaGraph,
    provenance: manifest.provenance ?? 'imported',
    startedAt: instantOf(manifest.startedAt),
    layers,
    total: profile?.total,
    iterations: profile?.iterations ?? null,
    gpuComputeMs: log.measurement?.gpuComputeMs.median ?? null,
    notes: [
      ...(standalone?.kind === 'layers' && standalone.format === 'trace' ? ['from a trace, not from trtexec'] : []),
      ...(standalone?.kind === 'layers' ? run.notes : []),
      ...overlapNotes(log.hints.map(({ id }) => id)),
    ],
    stated: {
      shapes: cell.shapes,
      conditions: {
        computeCapability: log.device.computeCapability ?? environment.computeCapability ?? null,
        gpuName: log.device.name ?? environment.gpuName ?? null,
        maxSmClockMhz: environment.maxSmClockMhz ?? null,
        mig: environment.mig ?? null,
        smClockMhz: telemetry?.smClockMhz ?? null,
      },
    },
  };
}
