import { errorCode } from '../../errors.ts';
const PROBLEMS: Readonly<Record<string, string>> = {
  SQLITE_NOTADB: 'is not a SQLite file; give another with --db',
  SQLITE_CANTOPEN: 'cannot be opened; does its folder exist, and may you write there?',
  SQLITE_READONLY: 'cannot be written; a store needs write access to the file and its folder',
  SQLITE_CORRUPT: 'is damaged; keep the file and restore it with `bench import` of its artefacts',
  SQLITE_FULL: 'cannot grow: the disk is full',
  SQLITE_IOERR: 'cannot be read or written: the disk is full or damaged',
  SQLITE_BUSY: 'is locked by another process',
};

/** What SQLite refused, as a predicate about the store; null for other errors. */
export function sqliteRefusal(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const code = sqliteCode(error) ?? sqliteCode(error.cause);
  if (code === null) {
    const noFolder = error.message.includes('directory does not exist');
    return noFolder ? (PROBLEMS['SQLITE_CANTOPEN'] ?? null) : null;
  }
  const base = code.split('_').slice(0, 2).join('_');
  return PROBLEMS[base] ?? `SQLite says ${code}: ${messageOf(error)}`;
}

/** True if the disk or its permissions are the reason, and not the file's content. */
export function isAccessProblem(error: unknown): boolean {
  const code = sqliteCode(error) ?? '';
  return /^SQLITE_(?:CANTOPEN|READONLY|PERM|IOERR|FULL)/.test(code);
}

/** As `sqliteRefusal`, in one line, for an error while the store was open. */
export function sqliteProblem(error: unknown): string | null {
  const refusal = sqliteRefusal(error);
  return refusal === null ? null : `the store ${refusal}`;
}

function messageOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function sqliteCode(error: unknown): string | null {
  const code = errorCode(error);
  return code.startsWith('SQLITE_') ? code : null;
}
