import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { NO_EXPORTS, type RunExports } from '../domain/run-facts.ts';
import { ExportFormatError } from '../parse/exports/file-format-error.ts';
import { parseLayerInfo } from '../parse/exports/layer-info.ts';
import { parseProfile } from '../parse/exports/profile.ts';
import { plainName, readWhole } from './files.ts';
import { type ReadRun, readExportsAlone } from './read-run.ts';

/** Names under which layer information lies beside a profile. */
const INFO_NAMES = ['layers.json', 'layers.json.gz', 'layer_info.json'] as const;

/**
 * Reads one file of `--exportProfile` or `--exportLayerInfo` by itself; beside a profile also the layer information of
 * the same folder.
 * @returns null when it is neither
 */
export async function readLayerFile(path: string): Promise<ReadRun | null> {
  if (!plainName(path).endsWith('.json')) return null;
  const text = (await readWhole(path)).toString('utf8');
  const profile = attempt(() => parseProfile(text));
  if (profile === null || profile.layers.length === 0) {
    const layerInfo = attempt(() => parseLayerInfo(text));
    return layerInfo === null ? null : alone(path, { layerInfo });
  }
  const beside = INFO_NAMES.map((name) => join(dirname(path), name)).find(
    (name) => name !== path && existsSync(name),
  );
  if (beside === undefined) return alone(path, { profile });
  const info = (await readWhole(beside)).toString('utf8');
  return alone(path, { profile, layerInfo: attempt(() => parseLayerInfo(info)) });
}

function attempt<Value>(parse: () => Value): Value | null {
  try {
    return parse();
  } catch (error) {
    if (error instanceof ExportFormatError) return null;
    throw error;
  }
}

function alone(path: string, exports: Partial<RunExports>): ReadRun {
  return readExportsAlone(path, { ...NO_EXPORTS, ...exports });
}
