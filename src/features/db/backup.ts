import { accessSync, constants, existsSync, rmSync, statSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import { temporaryPath } from '../../files/layout.ts';
import { EnvironmentLackingError, errorCode, StoreError, UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { printable } from '../../text/printable.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { backupStore, type OpenStore } from '../../store/file/open.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import type { BackupOutput } from './output.ts';
import { Ticker } from './ticker.ts';
import type { BackupOptions } from './command.ts';

export function backup(file: string | undefined, options: BackupOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async (store) => {
    const target = file === undefined ? defaultName(store.path, io) : resolve(io.cwd, file);
    refuse(target, store.path, options.force === true);
    const { runs } = await copyTo(store, target, options.force === true, io);
    const { size: bytes } = statSync(target);
    return printResult<BackupOutput>(io, options, { schemaVersion: 1, path: target, bytes, runs }, () => [
      `${printable(target)}: ${count(runs, 'run')}, ${formatBytes(bytes)}, checked`,
    ]);
  });
}

/** A second backup within the same second is an error and does not overwrite the first. */
function defaultName(path: string, io: Io): string {
  const time = io.now().toISOString().slice(0, 19).replaceAll(':', '').replace('T', '-');
  return `${path.replace(/\.sqlite$/, '')}-${time}Z.backup.sqlite`;
}

function refuse(target: string, storePath: string, force: boolean): void {
  if (target === storePath) throw new UsageError(`${target} is the store itself`);
  const there = statSync(target, { throwIfNoEntry: false });
  if (there?.isDirectory() === true) throw new UsageError(`${target} is a folder; name a file`);
  if (there !== undefined && !force) throw alreadyThere(target);
}

function alreadyThere(target: string): UsageError {
  return new UsageError(`${target} exists; --force overwrites it`);
}

/** Verified before the rename, so that an existing backup is always valid. */
async function copyTo({ db }: OpenStore, target: string, force: boolean, io: Io): Promise<{ runs: number }> {
  const temporary = temporaryPath(target);
  const ticker = new Ticker(io);
  await makeFolder(dirname(target));
  try {
    const copied = await backupStore(db, temporary, (percent) => ticker.report(`copying: ${percent} %`), io.signal);
    if (copied.quickCheck !== 'ok') {
      throw new StoreError(
        `the copy is damaged, like the store (${printable(copied.quickCheck)}): see \`bench db verify\``,
      );
    }
    if (!force && existsSync(target)) throw alreadyThere(target);
    await rename(temporary, target);
    return copied;
  } catch (error) {
    if (!isFull(error)) throw error;
    const line = `${target} cannot be written: the disk is full; the store did not change`;
    throw new EnvironmentLackingError(line, { cause: error });
  } finally {
    ticker.end();
    for (const ending of ['', '-wal', '-shm', '-journal']) rmSync(temporary + ending, { force: true });
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    if (isFull(error) || errorCode(error) === '') throw error;
    throw new UsageError(`${folder} is not a writable folder`, { cause: error });
  }
}

function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'SQLITE_FULL'].includes(errorCode(error));
}
