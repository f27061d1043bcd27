import { accessSync, chmodSync, constants, copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import Database from 'better-sqlite3';

import { StoreAccessError, errorCode } from '../../errors.ts';
import { fullDisk } from '../../process/disk-space.ts';

const BUSY_TIMEOUT_MS = 30_000;
/** Mode for a copy, which would otherwise inherit a read-only one. */
const OWN_FILE_MODE = 0o600;

/**
 * Whether this process may change a store: its file, the files of the WAL, and the folder, in which SQLite makes files.
 */
export function mayWriteStore(path: string): boolean {
  const files = [path, `${path}-wal`, `${path}-shm`];
  return isAllowed(dirname(path), constants.W_OK) && files.every((file) => isAllowed(file, constants.W_OK, true));
}

/** Uses one call, because another process may make or remove the file between two. */
function isAllowed(path: string, mode: number, mayBeMissing = false): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch (error) {
    return mayBeMissing && errorCode(error) === 'ENOENT';
  }
}

/**
 * Opens a database for reading without creating or migrating it. Avoids a read-only connection where possible, because
 * that leaves the files of the WAL behind. A store without write permission, or on a full disk, is read in place if
 * SQLite need not make a file, which the owner of the store could not write to, and otherwise from a copy.
 * @throws StoreAccessError when no copy can be made
 */
export function openToRead(path: string, mayWrite = mayWriteStore): Database.Database {
  if (mayWrite(path) && fullDisk(dirname(path)) === null) {
    return checked(new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS }));
  }
  try {
    if (existsSync(`${path}-shm`)) return checked(new Database(path, { readonly: true, timeout: BUSY_TIMEOUT_MS }));
  } catch (error) {
    // SQLite must create a file to read the store, or must recover after a killed process.
    if (!/^SQLITE_(?:CANTOPEN$|READONLY)/.test(errorCode(error))) throw error;
  }
  return privateCopy((copy) => copyFiles(path, copy));
}

export function readFrom<Result>(path: string, read: (client: Database.Database) => Result): Result {
  const client = openToRead(path);
  try {
    return read(client);
  } finally {
    client.close();
  }
}

/** Copies a store to a new file, which has no WAL. */
export function copyInto(client: Database.Database, target: string): void {
  // SQLite would refuse to write the copy, too.
  client.pragma('query_only = OFF');
  client.prepare('VACUUM INTO ?').run(target);
}

function checked(client: Database.Database): Database.Database {
  return closedOnError(client, () => {
    client.pragma('query_only = ON');
    client.pragma('schema_version');
    return client;
  });
}

/** Closes a client if `use` fails. */
export function closedOnError<Result>(client: Database.Database, use: () => Result): Result {
  try {
    return use();
  } catch (error) {
    client.close();
    throw error;
  }
}

/**
 * A private database in the temporary folder. Its file is already unlinked on return, so that nothing remains when the
 * process ends.
 * @param fill writes the copy
 * @param prepare makes the last changes to it
 */
export function privateCopy(
  fill: (copy: string) => void,
  prepare: (client: Database.Database) => void = () => {},
): Database.Database {
  let folder: string;
  try {
    folder = mkdtempSync(join(tmpdir(), 'bench-store-'));
  } catch (error) {
    throw noCopy(tmpdir(), error);
  }
  try {
    const copy = join(folder, 'store.sqlite');
    fill(copy);
    const client = new Database(copy);
    return closedOnError(client, () => {
      client.pragma('journal_mode = DELETE');
      prepare(client);
      return checked(client);
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function noCopy(where: string, error: unknown): StoreAccessError {
  const why = errorCode(error) || String(error);
  return new StoreAccessError(
    `bench reads a read-only store from a copy, but ${where} cannot hold one (${why}): set TMPDIR to a folder with free space`,
    { cause: error },
  );
}

/** Copies without SQLite's locks. A store that somebody writes has a `-shm`, and is read in place. */
function copyFiles(path: string, copy: string): void {
  for (const ending of ['', '-wal', '-journal']) {
    const [source, target] = [path + ending, copy + ending];
    if (!existsSync(source)) continue;
    if (!isAllowed(source, constants.R_OK)) throw new StoreAccessError(`${source} cannot be read: permission denied`);
    try {
      copyFileSync(source, target, constants.COPYFILE_FICLONE);
      chmodSync(target, OWN_FILE_MODE);
    } catch (error) {
      throw noCopy(dirname(target), error);
    }
  }
}
