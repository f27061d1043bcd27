import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { RunManifest } from '../artefacts/run-manifest.ts';
import { isRecord } from '../text/unknown-values.ts';

/** Where a replay says which recording answered. */
export const REPLAY_REPORT = 'replay.json';

/** What a replay adds to `run.json`: the recording, and the exports that it never had. Nothing for a real trtexec. */
export async function readReplayReport(folder: string): Promise<Partial<RunManifest>> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(await readFile(join(folder, REPLAY_REPORT), 'utf8'));
  } catch {
    return {};
  }
  if (!isRecord(parsed)) return {};
  const { set, id, omitted } = parsed;
  return {
    recording: typeof set === 'string' && typeof id === 'string' ? { set, id } : null,
    omitted: Array.isArray(omitted) ? omitted.filter((name) => typeof name === 'string') : [],
  };
}
