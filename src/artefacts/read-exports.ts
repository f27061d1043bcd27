import { basename, dirname } from 'node:path';

import type { QueryTimes } from '../domain/query-times.ts';
import { type ExportProblem, NO_EXPORTS, type RunExports } from '../domain/run-facts.ts';
import type { LayerProfile, TrtexecRun } from '../domain/trtexec-log.ts';
import { parseLayerInfo } from '../parse/exports/layer-info.ts';
import { parseProfile } from '../parse/exports/profile.ts';
import { ProfileReader } from '../parse/exports/profile-reader.ts';
import { TimesReader } from '../parse/exports/times.ts';
import { wholeOf } from './files.ts';
import type { RunFiles } from './run-files.ts';
import type { RunManifest } from './run-manifest.ts';

const EXPORT_FLAGS = ['--exportTimes', '--exportProfile', '--exportLayerInfo'] as const;

type ExportFlag = (typeof EXPORT_FLAGS)[number];

/** Names under which the files lie when no command line says it. */
const USUAL_NAMES: Readonly<Record<ExportFlag, string>> = {
  '--exportTimes': 'times.json',
  '--exportProfile': 'profile.json',
  '--exportLayerInfo': 'layers.json',
};

export interface ReadExports {
  readonly exports: RunExports;
  readonly notes: readonly string[];
}

/** Reads the files that a run exported into its folder. */
export async function readExports(
  files: RunFiles,
  manifest: RunManifest,
  log: TrtexecRun,
): Promise<ReadExports> {
  const missing: ExportProblem[] = [];
  const omitted: string[] = [];
  const notes: string[] = [];
  const read: Partial<RunExports>[] = [];
  for (const flag of EXPORT_FLAGS) {
    const asked = askedPath(flag, manifest, log);
    const name = asked === null ? USUAL_NAMES[flag] : basename(asked);
    if (!files.has(name)) {
      if (asked === null) continue;
      if (isOmitted(asked, name, manifest)) {
        omitted.push(name);
        notes.push(`${name} is not in this copy of the run`);
      } else missing.push({ flag, problem: `${asked} was not written` });
      continue;
    }
    try {
      read.push(await readOne(flag, files, name, log));
    } catch (error) {
      const problem = `${name} is damaged: ${error instanceof Error ? error.message : String(error)}`;
      // Without its times a run is not what was asked; layers are beside the measurement.
      if (flag === '--exportTimes') missing.push({ flag, problem });
      else notes.push(problem);
    }
  }
  const { engineBytes } = manifest;
  const exports = Object.assign({}, NO_EXPORTS, { missing, omitted, engineBytes }, ...read);
  return { exports, notes };
}

function askedPath(flag: ExportFlag, { argv }: RunManifest, log: TrtexecRun): string | null {
  const prefix = `${flag}=`;
  if (argv !== null) {
    return argv.find((part) => part.startsWith(prefix))?.slice(prefix.length) ?? null;
  }
  if (flag === '--exportTimes') return log.options.exportTimes;
  return flag === '--exportProfile' ? log.options.exportProfile : null;
}

/**
 * Whether a file that lacks was left out of this copy. trtexec writes nothing, and says nothing, where it may not write:
 * into a device, or a folder that nobody made. A folder below another one (`runs/7/times.json`) was made for the run by
 * whoever started it, so the file was there. A lone log, without a `run.json`, says nothing of the files beside it.
 */
function isOmitted(asked: string, name: string, { argv, omitted }: RunManifest): boolean {
  if (omitted.includes(name)) return true;
  const folder = dirname(asked);
  if (folder === '.' || folder.startsWith('/dev')) return false;
  return argv === null || dirname(folder) !== '.';
}

async function readOne(
  flag: ExportFlag,
  files: RunFiles,
  name: string,
  log: TrtexecRun,
): Promise<Partial<RunExports>> {
  switch (flag) {
    case '--exportTimes':
      return { times: withoutWarmUp(await readTimes(files.chunks(name)), log.queries) };
    case '--exportProfile':
      return { profile: await readProfile(() => files.chunks(name)) };
    case '--exportLayerInfo':
      return { layerInfo: parseLayerInfo((await files.whole(name)).toString('utf8')) };
  }
}

/** @throws ExportFormatError when it is no profile */
export async function readProfile(read: () => AsyncIterable<Buffer>): Promise<LayerProfile> {
  const reader = new ProfileReader();
  for await (const chunk of read()) reader.push(chunk);
  return reader.end() ?? parseProfile((await wholeOf(read())).toString('utf8'));
}

async function readTimes(chunks: AsyncIterable<Buffer>): Promise<QueryTimes> {
  const reader = new TimesReader();
  for await (const chunk of chunks) reader.push(chunk);
  return reader.end();
}

/** Up to 8.4 the warm-up rows stand before the timed ones. */
function withoutWarmUp(times: QueryTimes, queries: number | null): QueryTimes {
  const extra = queries === null ? 0 : times.count - queries;
  if (extra < 0) {
    throw new Error(`${times.count} rows, but the log says that ${queries} queries were timed`);
  }
  if (extra === 0) return times;
  const columns = Object.fromEntries(
    Object.entries(times.columns).map(([name, values]) => [name, values.slice(extra)]),
  );
  return { count: times.count - extra, columns };
}
