import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

import * as z from 'zod';

import type { EngineLayer, LayerTime } from '../../records/layer-info.ts';
import { QUERY_TIME_COLUMNS, type QueryTimeColumn, type QueryTimes } from '../../trtexec/run-facts.ts';
import { joinPieces, packedPieces, unpackTimes } from '../../trtexec/samples/sample-codec.ts';

/**
 * First byte of a blob of samples. The first byte of zstd (0x28) indicates the first format: columns of integers or
 * doubles.
 */
const PACKED = 2;
/**
 * Pieces, each in the form of `PACKED` after its length. The number of queries precedes them. Integers are uint32,
 * little endian.
 */
const IN_PIECES = 3;
const ZSTD_LEVEL = 6;

export function encodeSamples(times: QueryTimes): Buffer {
  const packed = packedPieces(times);
  if (packed.length <= 1) return Buffer.concat([Buffer.of(PACKED), ...packed]);
  const pieces = packed.flatMap((piece) => [uint32(piece.length), piece]);
  return Buffer.concat([Buffer.of(IN_PIECES), uint32(times.count), ...pieces]);
}

/** @throws when the blob was not written by `encodeSamples` */
export function decodeSamples(blob: Buffer): QueryTimes {
  if (blob[0] === PACKED) return unpackTimes(blob.subarray(1));
  return blob[0] === IN_PIECES ? decodePieces(blob) : decodeFirstFormat(zstdDecompressSync(blob));
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

const headerSchema = z.object({
  format: z.literal(1),
  count: z.number(),
  columns: z.array(
    z.object({
      name: z.enum(QUERY_TIME_COLUMNS),
      /** `float64`, or 32-bit integers that represent `integer / 10 ** decimals`. */
      decimals: z.union([z.number(), z.literal('float64')]),
      /** True if each integer except the first is the difference from the previous one. */
      differences: z.boolean(),
    }),
  ),
});

/** Reads the first format: length of the header (uint32, little endian), header (JSON), columns in order. */
function decodeFirstFormat(bytes: Buffer): QueryTimes {
  const headerEnd = 4 + bytes.readUInt32LE();
  const { count, columns: headers } = headerSchema.parse(JSON.parse(bytes.toString('utf8', 4, headerEnd)));
  const columns: Partial<Record<QueryTimeColumn, Float64Array>> = {};
  let at = headerEnd;
  for (const { name, decimals, differences } of headers) {
    const values = new Float64Array(count);
    let sum = 0;
    for (let i = 0; i < count; i += 1) {
      if (decimals === 'float64') values[i] = bytes.readDoubleLE(at);
      else {
        const integer = bytes.readInt32LE(at);
        sum = differences ? sum + integer : integer;
        values[i] = sum / 10 ** decimals;
      }
      at += decimals === 'float64' ? 8 : 4;
    }
    columns[name] = values;
  }
  return { count, columns };
}

export interface StoredLayers {
  readonly profile: readonly LayerTime[] | null;
  readonly layers: readonly EngineLayer[];
  readonly total?: Pick<LayerTime, 'averageMs' | 'medianMs'> | undefined;
}

export function encodeLayers(layers: StoredLayers): Buffer {
  return zstdCompressSync(JSON.stringify(layers), { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });
}

export function decodeLayers(data: Buffer): StoredLayers {
  const decoded: StoredLayers = JSON.parse(zstdDecompressSync(data).toString('utf8'));
  return decoded;
}
