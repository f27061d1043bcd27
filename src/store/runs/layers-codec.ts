import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

import type { EngineLayer } from '../../layers/layer-info.ts';
import type { LayerTime } from '../../trtexec/log/parsed-log.ts';

const ZSTD_LEVEL = 6;

/** What a run says of the engine's layers: times from the profiler, facts from the inspector. */
export interface StoredLayers {
  readonly profile: readonly LayerTime[] | null;
  readonly layers: readonly EngineLayer[];
}

export function encodeLayers(layers: StoredLayers): Buffer {
  return zstdCompressSync(JSON.stringify(layers), { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });
}

export function decodeLayers(data: Buffer): StoredLayers {
  const decoded: StoredLayers = JSON.parse(zstdDecompressSync(data).toString('utf8'));
  return decoded;
}
