import { rmSync, statSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import { temporaryPath } from '../../files/layout.ts';
import { errorCode, StoreError, UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { printable } from '../../text/printable.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { backupStore, type OpenStore } from '../../store/file/open.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { cannotWrite } from '../../cli/output-file.ts';
import { withStore } from '../../cli/with-store.ts';
import type { BackupOutput } from './output.ts';
import type { BackupOptions } from './command.ts';

export function backup(file: string | undefined, options: BackupOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async (store) => {
    const target = file === undefined ? defaultName(store.path, io) : resolve(io.cwd, file);
    refuse(target, store.path, options.force === true);
    const runs = await copyTo(store, target, io);
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
  if (there !== undefined && !force) throw new UsageError(`${target} exists; --force overwrites it`);
}

const FULL = ['ENOSPC', 'EDQUOT', 'SQLITE_FULL'];

/** Verified before the rename, so that an existing backup is always valid. @returns the number of runs in the copy */
async function copyTo({ db }: OpenStore, target: string, io: Io): Promise<number> {
  const temporary = temporaryPath(target);
  try {
    await mkdir(dirname(target), { recursive: true });
    const { quickCheck, runs } = await backupStore(db, temporary, io.signal);
    if (quickCheck !== 'ok') {
      throw new StoreError(`the copy is damaged, like the store (${printable(quickCheck)}): see \`bench db verify\``);
    }
    await rename(temporary, target);
    return runs;
  } catch (error) {
    const code = errorCode(error);
    if (code === '' || error instanceof StoreError) throw error;
    const problem = cannotWrite(target, error, 'the store did not change');
    throw FULL.includes(code) ? problem : new UsageError(problem.message, { cause: error });
  } finally {
    for (const ending of ['', '-wal', '-shm', '-journal']) rmSync(temporary + ending, { force: true });
  }
}
