import { NO_EXPORTS } from '../../trtexec/run-facts.ts';
import { parseTraceEvents } from '../../trtexec/exports/trace-events.ts';
import { silentRun } from '../../trtexec/log/run-builder.ts';
import { type ReadExports, readExports } from './read-exports.ts';
import type { RunFiles } from '../run-files.ts';
import type { RunManifest } from '../run-manifest.ts';

/** Under which names the files lie that say something of layers. */
export const LAYER_NAMES = { profile: 'profile.json', info: 'layers.json', trace: 'trace.json' } as const;

/** What of an engine's layers lies in a folder without a log. */
export async function readLoneLayers(files: RunFiles, manifest: RunManifest): Promise<ReadExports> {
  const { lone } = manifest;
  if (lone?.kind !== 'layers' || lone.format === 'trtexec') {
    return readExports(files, manifest, silentRun());
  }
  try {
    const text = (await files.whole(LAYER_NAMES.trace)).toString('utf8');
    const profile = parseTraceEvents(text, lone.runs ?? 1);
    return { exports: { ...NO_EXPORTS, profile }, notes: [] };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { exports: NO_EXPORTS, notes: [`${LAYER_NAMES.trace} is damaged: ${problem}`] };
  }
}
