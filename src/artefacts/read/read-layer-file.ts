import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import type { LayerInfo } from '../../layers/layer-info.ts';
import { NO_EXPORTS, type RunExports } from '../../trtexec/run-facts.ts';
import type { LayerProfile } from '../../trtexec/log/parsed-log.ts';
import { ExportFormatError } from '../../trtexec/exports/file-format-error.ts';
import { parseLayerInfo } from '../../trtexec/exports/layer-info.ts';
import { plainName, readChunks, readWhole } from '../files.ts';
import { readProfile } from './read-exports.ts';
import { type ReadRun, readExportsAlone } from './read-run.ts';

/** Names under which layer information lies beside a profile. */
const INFO_NAMES = ['layers.json', 'layers.json.gz', 'layers.json.zst', 'layers.json.br'] as const;

/**
 * Reads one file of `--exportProfile` or `--exportLayerInfo` by itself; beside a profile also the layer information of
 * the same folder.
 * @returns null when it is neither
 */
export async function readLayerFile(path: string): Promise<ReadRun | null> {
  if (!plainName(path).endsWith('.json')) return null;
  const profile = await profileIn(path);
  if (profile === null) {
    const layerInfo = await layerInfoIn(path);
    return layerInfo === null ? null : alone(path, { layerInfo });
  }
  const beside = INFO_NAMES.map((name) => join(dirname(path), name)).find(existsSync);
  return alone(path, { profile, layerInfo: beside === undefined ? null : await layerInfoIn(beside) });
}

async function profileIn(path: string): Promise<LayerProfile | null> {
  try {
    const profile = await readProfile(readChunks(path), () => readWhole(path));
    return profile.layers.length === 0 ? null : profile;
  } catch (error) {
    if (error instanceof ExportFormatError) return null;
    throw error;
  }
}

async function layerInfoIn(path: string): Promise<LayerInfo | null> {
  try {
    return parseLayerInfo((await readWhole(path)).toString('utf8'));
  } catch (error) {
    if (error instanceof ExportFormatError) return null;
    throw error;
  }
}

function alone(path: string, exports: Partial<RunExports>): ReadRun {
  return readExportsAlone(path, { ...NO_EXPORTS, ...exports });
}
