import { createHash } from 'node:crypto';

import { type Cell, CELL_KEY_VERSION, type KeyedCell } from './cell.ts';
import { canonicalJson } from '../text/canonical-json.ts';

const KEY_DIGITS = 32;

/** The cell with its key: the first 128 bits of SHA-256 over its canonical JSON and the key's version. */
export function keyedCell(cell: Cell): KeyedCell {
  const identity: Cell = {
    model: cell.model,
    precision: cell.precision,
    precisionVia: cell.precisionVia,
    shapes: cell.shapes,
    cudaGraph: cell.cudaGraph,
    dataTransfers: cell.dataTransfers,
    streams: cell.streams,
    spinWait: cell.spinWait,
    inputs: cell.inputs,
    axisFlags: cell.axisFlags,
    // Keys of trtexec's cells are as they were before there were others.
    ...(cell.harness === undefined ? {} : { harness: cell.harness }),
  };
  return { ...identity, key: hashOf({ keyVersion: CELL_KEY_VERSION, ...identity }) };
}

/** 32 hexadecimal digits that depend on the value alone. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, KEY_DIGITS);
}
