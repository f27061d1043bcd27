import { join } from 'node:path';

import { artefactsFolderOf, runFolderOf } from '../../artefacts/layout.ts';
import { type ReadRun, readRunFolder } from '../../artefacts/read/read-run.ts';
import type { StoredPlan } from '../../run/stored-plan.ts';
import type { ShownRun } from '../../store/runs/show-run.ts';
import { packageFolder } from '../../cli/store-location.ts';

/** What is known of how a stored process was started. */
export interface StartedProcess {
  readonly run: ShownRun;
  /** Null when only a text of it is known, or nothing. */
  readonly argv: readonly string[] | null;
  readonly env: Readonly<Record<string, string>>;
  readonly source: 'stored' | 'recorder';
  readonly startedAt: string | null;
  /** Arguments that nobody can tell apart any more. */
  readonly commandLine: string | null;
  /** Its artefacts; null when they are gone. */
  readonly read: ReadRun | null;
  /** What answered in place of trtexec; null for a real one. */
  readonly recordingSet: string | null;
  readonly notes: readonly string[];
}

/** A stored run with what its artefacts, and the recording that answered it, say of its command line. */
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
  // Names of folders only: what a file says must not lead elsewhere.
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

/** UTC in ISO 8601, as everywhere else. */
function instantOf(text: string | null): string | null {
  const time = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
