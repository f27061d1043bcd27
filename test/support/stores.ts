import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';

import { MERGED_TABLES } from '../../src/store/merge/tables.ts';
import { type Finished, finished, ROOT, temporaryFolder } from './bench.ts';
import { simulatedStore } from './made-stores.ts';
import { simulatedCells } from './simulated-store.ts';
import { queryStore } from './store-dump.ts';

const BENCH = join(ROOT, 'bin', 'bench.js');

/** A store of made-up nights, a hundred runs each, from a night of its own on: two of them have nothing in common. */
export function storeOfNights(nights: number, after: number = 0): string {
  const value = (cell: number, night: number): number => 1 + cell + night / 1000;
  return simulatedStore({ cells: simulatedCells(10), nights, repeats: 10, value, after });
}

/** Every row of every table, in an order of its own; without the numbers of rows. */
export function rowsOf(db: string): unknown {
  const names = Object.values(MERGED_TABLES).flat().toSorted();
  return names.map((name) => [
    name,
    queryStore(db, `SELECT * FROM ${name}`)
      .map((row) => JSON.stringify(row))
      .toSorted(),
  ]);
}

/** Whether a process may have a file system of its own here. */
export const CAN_MOUNT = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;

/**
 * Runs a shell script with a small disk of its own.
 * @param size as `mount -o size=` takes it
 * @param script with `$DISK` for the disk, and `bench` for the program
 */
export function onSmallDisk(size: string, script: string, args: readonly string[]): Promise<Finished> {
  const DISK = temporaryFolder();
  const prepared = `mount -t tmpfs -o size=${size} none "$DISK" || exit 99
    bench() { "$NODE" "$BENCH" "$@"; echo "code $?"; }
    ${script}`;
  const env = { ...process.env, DISK, NODE: process.execPath, BENCH, CI: '1', NO_COLOR: '1' };
  return finished(spawn('unshare', ['-rm', 'sh', '-c', prepared, 'sh', ...args], { env }));
}

const NOBODY = 65_534;

/** `bench` as a user whom files of this one may be closed to: root may do anything. */
export function benchAsNobody(args: readonly string[]): Promise<Finished> {
  const who = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const env = { ...process.env, CI: '1', NO_COLOR: '1', BENCH_DB: undefined };
  return finished(spawn(process.execPath, [BENCH, ...args], { ...who, env, cwd: '/' }));
}
