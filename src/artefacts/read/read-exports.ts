import { basename, dirname } from 'node:path';

import { errorText } from '../../errors.ts';
import { keysOf } from '../../text/unknown-values.ts';
import { parseLayerCsv } from '../../trtexec/exports/layer-csv.ts';
import { parseLayerInfo } from '../../trtexec/exports/layer-info.ts';
import { parseProfile } from '../../trtexec/exports/profile.ts';
import { timesOfRun, TimesReader } from '../../trtexec/exports/times.ts';
import { parseTraceEvents } from '../../trtexec/exports/trace-events.ts';
import { flagValue } from '../../trtexec/flags/flag-table.ts';
import { silentRun, type TrtexecRun } from '../../trtexec/log/run-builder.ts';
import { type ExportProblem, NO_EXPORTS, type RunExports, USUAL_NAMES } from '../../trtexec/run-facts.ts';
import type { RunFiles } from '../run-files.ts';
import type { RunManifest } from '../run-manifest.ts';

interface ReadExports {
  readonly exports: RunExports;
  readonly notes: readonly string[];
}

export async function readExports(files: RunFiles, manifest: RunManifest, log: TrtexecRun): Promise<ReadExports> {
  const missing: ExportProblem[] = [];
  const omitted: string[] = [];
  const notes: string[] = [];
  const read: Partial<RunExports>[] = [];
  for (const flag of keysOf(USUAL_NAMES)) {
    const requested = requestedPath(flag, manifest, log);
    const name = requested === null ? USUAL_NAMES[flag] : basename(requested);
    if (!files.has(name)) {
      if (requested === null) continue;
      if (isOmitted(requested, name, manifest)) {
        omitted.push(name);
        if (manifest.argv !== null) notes.push(`${name} is not in this copy of the run`);
      } else missing.push({ flag, problem: `${requested} was not written` });
      continue;
    }
    try {
      read.push(await readOne(flag, files, name, log));
    } catch (error) {
      const problem = `${name} is damaged: ${errorText(error)}`;
      // A run that lacks its requested times is incomplete. The other exports are not part of the measurement.
      if (flag === '--exportTimes' && requested !== null) missing.push({ flag, problem });
      else notes.push(`${problem}; it is left out`);
    }
  }
  const { engineBytes } = manifest;
  return { exports: Object.assign({}, NO_EXPORTS, { missing, omitted, engineBytes }, ...read), notes };
}

/** The exports of a standalone log: those that it names are no part of it. */
export function exportsOfLog(log: TrtexecRun): RunExports {
  const named = keysOf(USUAL_NAMES).flatMap((flag) => requestedPath(flag, { argv: null }, log) ?? []);
  return { ...NO_EXPORTS, omitted: named.map((path) => basename(path)) };
}

function requestedPath(
  flag: keyof typeof USUAL_NAMES,
  { argv }: Pick<RunManifest, 'argv'>,
  log: TrtexecRun,
): string | null {
  if (argv !== null) return flagValue(argv, flag);
  if (flag === '--exportTimes') return log.options.exportTimes;
  return flag === '--exportProfile' ? log.options.exportProfile : null;
}

/**
 * Whether a missing file was left out of this copy. trtexec silently writes nothing to a device or into a missing
 * folder. Whoever started the run made a nested folder (`runs/7/times.json`) for it, so that the file once existed. A
 * standalone log without `run.json` says nothing about the files next to it.
 */
function isOmitted(requested: string, name: string, { argv, omitted }: RunManifest): boolean {
  if (omitted.includes(name)) return true;
  const folder = dirname(requested);
  if (folder === '.' || folder.startsWith('/dev')) return false;
  return argv === null || dirname(folder) !== '.';
}

async function readOne(flag: keyof typeof USUAL_NAMES, files: RunFiles, name: string, log: TrtexecRun) {
  if (flag === '--exportTimes') {
    const reader = new TimesReader();
    for await (const chunk of files.chunks(name)) reader.push(chunk);
    return { times: timesOfRun(reader.end(), log) };
  }
  const text = (await files.whole(name)).toString('utf8');
  return flag === '--exportProfile' ? { profile: parseProfile(text) } : { layerInfo: parseLayerInfo(text) };
}

export const LAYER_NAMES = {
  profile: 'profile.json',
  info: 'layers.json',
  trace: 'trace.json',
  csv: 'layers.csv',
} as const;

/** The layers of an engine in a folder without a log. */
export async function readStandaloneLayers(files: RunFiles, manifest: RunManifest): Promise<ReadExports> {
  const { lone: standalone } = manifest;
  if (standalone?.kind !== 'layers' || standalone.format === 'trtexec') {
    return readExports(files, manifest, silentRun());
  }
  const name = LAYER_NAMES[standalone.format];
  try {
    const text = (await files.whole(name)).toString('utf8');
    const exports =
      standalone.format === 'csv' ? parseLayerCsv(text) : { profile: parseTraceEvents(text, standalone.runs ?? 1) };
    return { exports: { ...NO_EXPORTS, ...exports }, notes: [] };
  } catch (error) {
    return { exports: NO_EXPORTS, notes: [`${name} is damaged: ${errorText(error)}`] };
  }
}
