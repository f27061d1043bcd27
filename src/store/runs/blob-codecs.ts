import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

import type { EngineLayer } from '../../records/layer-info.ts';
import type { LayerProfile, LayerTime } from '../../trtexec/log/parsed-log.ts';
import type { QueryTimes } from '../../trtexec/run-facts.ts';
import { joinPieces, LargeTimes, packTimes, unpackTimes } from '../../trtexec/samples/large-times.ts';

/** First byte of a blob of samples. */
const PACKED = 2;
/**
 * Pieces, each in the form of `PACKED` after its length. The number of queries precedes them. Integers are uint32,
 * little endian.
 */
const IN_PIECES = 3;
const ZSTD_LEVEL = 6;

export function encodeSamples(times: QueryTimes): Buffer {
  if (!(times instanceof LargeTimes)) return Buffer.concat([Buffer.of(PACKED), packTimes(times)]);
  const pieces = times.pieces.flatMap((piece) => [uint32(piece.length), piece]);
  return Buffer.concat([Buffer.of(IN_PIECES), uint32(times.count), ...pieces]);
}

/** @throws when the blob was not written by `encodeSamples` */
export function decodeSamples(blob: Buffer): QueryTimes {
  if (blob[0] === PACKED) return unpackTimes(blob.subarray(1));
  if (blob[0] === IN_PIECES) return decodePieces(blob);
  throw new RangeError(
    'the samples are damaged, or in a form that this bench no longer reads; a new store made from the artefacts has them',
  );
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function decodePieces(blob: Buffer): QueryTimes {
  const count = blob.readUInt32LE(1);
  const pieces: Buffer[] = [];
  for (let at = 5; at < blob.length;) {
    const end = at + 4 + blob.readUInt32LE(at);
    if (end > blob.length) throw new RangeError('the samples end too soon');
    pieces.push(blob.subarray(at + 4, end));
    at = end;
  }
  return joinPieces(pieces, count);
}

export interface StoredLayers {
  readonly profile: readonly LayerTime[] | null;
  readonly layers: readonly EngineLayer[];
  readonly total?: LayerProfile['total'];
}

export function encodeLayers(layers: StoredLayers): Buffer {
  return zstdCompressSync(JSON.stringify(layers), { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });
}

export function decodeLayers(data: Buffer): StoredLayers {
  const decoded: StoredLayers = JSON.parse(zstdDecompressSync(data).toString('utf8'));
  return decoded;
}
