import Database from 'better-sqlite3';

const BUSY_TIMEOUT_MS = 30_000;

/**
 * Opens a database that is only read, without making one or bringing it up to date. Not as a read-only connection where
 * that can be helped: such a one leaves the files of the WAL behind.
 */
export function openToRead(path: string, timeoutMs: number = BUSY_TIMEOUT_MS): Database.Database {
  try {
    const client = new Database(path, { fileMustExist: true, timeout: timeoutMs });
    try {
      client.pragma('query_only = ON');
      client.pragma('schema_version');
      return client;
    } catch (error) {
      client.close();
      throw error;
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!/^SQLITE_(?:READONLY|CANTOPEN|PERM)/.test(code)) throw error;
    return new Database(path, { readonly: true, timeout: timeoutMs });
  }
}
