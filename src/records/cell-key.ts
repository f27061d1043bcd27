import { createHash } from 'node:crypto';

import { type Cell, CELL_KEY_VERSION, cellSchema, type KeyedCell } from './cell.ts';
import { canonicalJson } from '../text/canonical-json.ts';

const KEY_DIGITS = 32;

/** The cell with its key: the first 128 bits of SHA-256 over its canonical JSON and the key's version. */
export function keyedCell(cell: Cell): KeyedCell {
  const identity: Cell = cellSchema.parse(cell);
  return { ...identity, key: hashOf({ keyVersion: CELL_KEY_VERSION, ...identity }) };
}

/** 32 hexadecimal digits that depend on the value alone. */
export function hashOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, KEY_DIGITS);
}
