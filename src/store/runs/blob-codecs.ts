import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

import * as z from 'zod';

import type { EngineLayer } from '../../layers/layer-info.ts';
import type { LayerTime } from '../../trtexec/log/parsed-log.ts';
import { QUERY_TIME_COLUMNS, type QueryTimeColumn, type QueryTimes } from '../../trtexec/run-facts.ts';

/**
 * The samples of a run as one blob, bit-exact. trtexec prints six significant digits, so a column is nearly always a
 * list of integers over a power of ten; these are kept as 32-bit integers (stamps as differences), anything else as
 * doubles. Compressed with zstd: about 9 bytes a query for all twelve columns. Layout before compression: length of the
 * header (uint32, little endian), header (JSON), the columns in order.
 */
const columnSchema = z.object({
  name: z.enum(QUERY_TIME_COLUMNS),
  /** `float64`, or integers of which each represents `integer / 10 ** decimals`. */
  decimals: z.union([z.number(), z.literal('float64')]),
  /** True if each integer but the first is the difference from the previous one. */
  differences: z.boolean(),
});

const FORMAT = 1;

const headerSchema = z.object({ format: z.literal(FORMAT), count: z.number(), columns: z.array(columnSchema) });

const MAX_DECIMALS = 12;
const MAX_INT32 = 2 ** 31 - 1;
const ZSTD_LEVEL = 6;
const HEADER_LENGTH_BYTES = 4;

export function encodeSamples(times: QueryTimes): Buffer {
  const headers: z.infer<typeof columnSchema>[] = [];
  const parts: Buffer[] = [];
  for (const name of QUERY_TIME_COLUMNS) {
    const values = times.columns[name];
    if (values === undefined) continue;
    const decimals = commonDecimals(values);
    if (decimals === null) {
      headers.push({ name, decimals: 'float64', differences: false });
      parts.push(bytesOf(Float64Array.from(values)));
      continue;
    }
    const differences = name.startsWith('start') || name.startsWith('end');
    headers.push({ name, decimals, differences });
    parts.push(bytesOf(scaled(values, decimals, differences)));
  }
  const header = Buffer.from(JSON.stringify({ format: FORMAT, count: times.count, columns: headers }));
  const length = Buffer.alloc(HEADER_LENGTH_BYTES);
  length.writeUInt32LE(header.length);
  return zstdCompressSync(Buffer.concat([length, header, ...parts]), {
    params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL },
  });
}

/** @throws when the blob was not written by `encodeSamples` */
export function decodeSamples(blob: Buffer): QueryTimes {
  const bytes = zstdDecompressSync(blob);
  const headerEnd = HEADER_LENGTH_BYTES + bytes.readUInt32LE();
  const { count, columns: headers } = headerSchema.parse(
    JSON.parse(bytes.toString('utf8', HEADER_LENGTH_BYTES, headerEnd)),
  );
  const columns: Partial<Record<QueryTimeColumn, Float64Array>> = {};
  let at = headerEnd;
  for (const { name, decimals, differences } of headers) {
    const values = new Float64Array(count);
    const width = decimals === 'float64' ? 8 : 4;
    const scale = decimals === 'float64' ? 1 : 10 ** decimals;
    let sum = 0;
    for (let i = 0; i < count; i += 1, at += width) {
      if (decimals === 'float64') values[i] = bytes.readDoubleLE(at);
      else {
        const integer = bytes.readInt32LE(at);
        sum = differences ? sum + integer : integer;
        values[i] = sum / scale;
      }
    }
    columns[name] = values;
  }
  return { count, columns };
}

/** Fewest decimals that restore every value exactly from a 32-bit integer; null if impossible. */
function commonDecimals(values: Float64Array): number | null {
  let decimals = 0;
  for (const value of values) {
    while (Math.round(value * 10 ** decimals) / 10 ** decimals !== value) {
      decimals += 1;
      if (decimals > MAX_DECIMALS) return null;
    }
  }
  const scale = 10 ** decimals;
  // A difference needs one bit more than the values.
  const limit = MAX_INT32 / 2 / scale;
  const fits = values.every((value) => Math.abs(value) < limit && !Object.is(value, -0));
  // Early values were checked with fewer decimals: check again with the final number.
  return fits && values.every((value) => Math.round(value * scale) / scale === value) ? decimals : null;
}

function scaled(values: Float64Array, decimals: number, differences: boolean): Int32Array {
  const scale = 10 ** decimals;
  const integers = new Int32Array(values.length);
  let before = 0;
  values.forEach((value, index) => {
    const integer = Math.round(value * scale);
    integers[index] = differences ? integer - before : integer;
    before = integer;
  });
  return integers;
}

function bytesOf(array: Int32Array | Float64Array): Buffer {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength);
}

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
