import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { namesIn } from '../artefacts/names-and-sizes.ts';
import { toRunRecord } from '../artefacts/read/identify.ts';
import { ATTEMPT_PREFIX, isTemporary, runFolderOf, sweepFolderOf } from '../artefacts/layout.ts';
import { isId } from '../records/scalars.ts';
import { readRunFolder } from '../artefacts/read/read-run.ts';
import { isRecord } from '../text/unknown-values.ts';
import { endOrphans } from '../process/marked-processes.ts';
import { endOrphan, type ProcessIdentity, readIdentity } from '../process/process-identity.ts';
import { ATTEMPT_FILE, finishRun, hasEnded } from './attempt.ts';
import { sweepUpLocks } from './sweep-lock.ts';
import type { SweepContext } from './sweep-context.ts';

/**
 * Brings the folder of a sweep in order after a kill, at whatever moment it came: processes that still run are ended,
 * those that had ended are stored, half of a run is thrown away. Doing it twice changes nothing.
 */
export async function recoverSweep(context: SweepContext): Promise<void> {
  const folder = sweepFolderOf(context.artefactsFolder, context.sweep.sweepId);
  endOrphans((text) => context.onEvent({ kind: 'note', text }));
  for (const name of namesIn(folder)) {
    if (name.startsWith(ATTEMPT_PREFIX)) {
      await recoverAttempt(context, join(folder, name), name.slice(ATTEMPT_PREFIX.length));
    } else if (isId(name) && !context.writer.hasRun(name)) await storeFinished(context, name);
    else if (isTemporary(name)) await rm(join(folder, name), { recursive: true, force: true });
  }
  sweepUpLocks(context.artefactsFolder, context.sweep.sweepId);
  await context.cache.sweepUp();
  await context.variants?.cache.sweepUp();
}

async function recoverAttempt(context: SweepContext, folder: string, runId: string): Promise<void> {
  if (isId(runId) && hasEnded(folder)) {
    await finishRun(context, folder, runId);
    return;
  }
  const orphan = attemptOf(folder);
  if (orphan !== null) endOrphan(orphan);
  await rm(folder, { recursive: true, force: true });
}

/** The folder was in its place, but the store did not know it yet. */
async function storeFinished(context: SweepContext, runId: string): Promise<void> {
  const { artefactsFolder, sweep, writer } = context;
  const [read] = await readRunFolder(runFolderOf(artefactsFolder, sweep.sweepId, runId));
  if (read === undefined) return;
  const artefactFolder = `${sweep.sweepId}/${runId}`;
  const repeat = read.manifest.repeat ?? 1;
  writer.saveRun(toRunRecord(read, { runId, sweepId: sweep.sweepId, repeat, artefactFolder }));
}

function attemptOf(folder: string): ProcessIdentity | null {
  try {
    const parsed: unknown = JSON.parse(readFileSync(join(folder, ATTEMPT_FILE), 'utf8'));
    return isRecord(parsed) ? readIdentity(parsed) : null;
  } catch {
    return null;
  }
}
