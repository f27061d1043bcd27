import { writeFileSync } from 'node:fs';

/** Rows of floats as numpy stores them (format 1.0, little-endian float32). */
export function writeNpy(path: string, rows: readonly (readonly number[])[]): void {
  const about = `{'descr': '<f4', 'fortran_order': False, 'shape': (${rows.length}, ${rows[0]?.length ?? 0}), }`;
  const header = `${about.padEnd(117)}\n`;
  const start = Buffer.alloc(10);
  start.write('\x93NUMPY\x01\x00', 'latin1');
  start.writeUInt16LE(header.length, 8);
  const values = Float32Array.from(rows.flat());
  writeFileSync(path, Buffer.concat([start, Buffer.from(header), Buffer.from(values.buffer)]));
}
