import { instantOf } from '../../text/utc-instant.ts';
import { join, resolve } from 'node:path';

import { EngineCache } from '../../engines/engine-cache.ts';
import { readEngineFolder } from '../../engines/engine-folder.ts';
import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import type { CellInputs } from '../../records/cell.ts';
import type { OnnxFacts } from '../../tools/onnx/facts.ts';
import type { PlannedVariant } from '../../records/plan.ts';
import type { DrawnInput, HashedFile, ReproModel } from './reproduction.ts';
import { calibrationInputs, NPY_TYPES } from '../../tools/modelopt/check-base.ts';
import { artefactsFolderOf, enginesFolderOf, runFolderOf } from '../../artefacts/layout.ts';
import { type ReadRun, readRunFolder } from '../../artefacts/read/read-run.ts';
import type { StoredPlan } from '../../run/stored-plan.ts';
import type { ShownRun } from '../../store/runs/show-run.ts';
import { packageFolder } from '../../cli/store-location.ts';

/** Whatever else is in a file that somebody wrote is no hash. */
export function hashOrNull(text: string | null): string | null {
  return text !== null && /^[0-9a-f]{64}$/.test(text) ? text : null;
}

export async function factsOf(path: string, cwd: string): Promise<OnnxFacts | null> {
  return readOnnxFacts(resolve(cwd, path)).catch(() => null);
}

export function modelOf(path: string, sha256: string | null, facts: OnnxFacts | null): ReproModel {
  const external =
    facts?.externalFiles
      .filter(({ problem }) => problem === null)
      .map(({ location }) => location)
      .toSorted() ?? null;
  return { path, sha256, external };
}

/** Inputs of random calibration data; null when the model is missing or has changed. */
export function drawnInputs(variant: PlannedVariant, facts: OnnxFacts | null): readonly DrawnInput[] | null {
  if (facts === null || variant.calibration?.kind !== 'random') return null;
  const inputs = calibrationInputs(facts, variant, 'model');
  if ('problem' in inputs) return null;
  return inputs.map(({ elementType, name, shape }) => ({ name, descr: NPY_TYPES[elementType] ?? '', shape }));
}

/** The files of `--loadInputs` with hashes, by input. */
export function inputFiles(inputs: CellInputs | null, argv: readonly string[]): HashedFile[] {
  const option = '--loadInputs=';
  const stated = argv.find((argument) => argument.startsWith(option))?.slice(option.length);
  const hashes = inputs?.kind === 'files' ? inputs.sha256ByInput : {};
  return (stated ?? '').split(',').flatMap((part) => {
    const name = Object.keys(hashes).find((input) => part.startsWith(`${input}:`));
    const colon = name === undefined ? part.indexOf(':') : name.length;
    if (colon <= 0) return [];
    const sha256 = name === undefined ? null : hashOrNull(hashes[name] ?? null);
    return [{ path: part.slice(colon + 1), sha256 }];
  });
}

/** Where the cache next to a store has an engine with these bytes; null when it has not. */
export async function cachedEngine(storePath: string, sha256: string | null): Promise<string | null> {
  if (sha256 === null) return null;
  const cache = new EngineCache(enginesFolderOf(storePath));
  const { engines } = await readEngineFolder(cache, { hashes: false });
  const found = engines.find((engine) => engine.sha256 === sha256 && engine.state === 'unchecked');
  return found?.path ?? null;
}

export interface StartedProcess {
  readonly run: ShownRun;
  /** Null when only text is known, or nothing. */
  readonly argv: readonly string[] | null;
  readonly env: Readonly<Record<string, string>>;
  readonly source: 'stored' | 'recorder';
  readonly startedAt: string | null;
  /** Text that cannot be split into arguments. */
  readonly commandLine: string | null;
  /** Its artefacts; null when they are gone. */
  readonly read: ReadRun | null;
  /** What replaced trtexec; null for a real one. */
  readonly recordingSet: string | null;
  readonly notes: readonly string[];
}

/** From the store, the artefacts and the recording. */
export async function processOf(run: ShownRun, storePath: string, plan: StoredPlan | null): Promise<StartedProcess> {
  const folder = run.artefactFolder === null ? null : runFolderOf(artefactsFolderOf(storePath), run.sweepId, run.runId);
  const read = folder === null ? null : await readFirst(folder);
  const stored = {
    run,
    argv: run.argv,
    env: run.env,
    source: 'stored',
    startedAt: run.startedAt,
    commandLine: run.argv === null ? (read?.log.commandLine ?? null) : null,
    read,
    recordingSet: null,
    notes: [],
  } as const;
  const replayed = read?.manifest.recording ?? null;
  const replayFolder = plan?.program.replayFolder ?? null;
  if (replayed === null && replayFolder === null) return stored;
  const recorded = replayed === null ? null : await recordedBy(replayed.set, replayed.id, replayFolder);
  const recordingSet = replayed?.set ?? '';
  if (recorded === null || recorded.manifest.argv === null) {
    const note = 'the recording that answered is not here: the command line is what bench asked it';
    return { ...stored, recordingSet, notes: [note] };
  }
  const { argv, env } = recorded.manifest;
  const startedAt = instantOf(recorded.manifest.startedAt);
  return { ...stored, argv, env, source: 'recorder', startedAt, recordingSet };
}

async function recordedBy(set: string, id: string, replayFolder: string | null): Promise<ReadRun | null> {
  // Plain names only: an untrusted file must not lead elsewhere.
  if (![set, id].every((name) => /^[\w.-]+$/.test(name) && !/^\.+$/.test(name))) return null;
  const shipped = join(packageFolder(), 'recordings', set);
  const folders = replayFolder === null ? [shipped] : [replayFolder, shipped];
  for (const folder of folders) {
    const read = await readFirst(join(folder, id));
    if (read !== null) return read;
  }
  return null;
}

async function readFirst(folder: string): Promise<ReadRun | null> {
  try {
    return (await readRunFolder(folder))[0] ?? null;
  } catch {
    return null;
  }
}
