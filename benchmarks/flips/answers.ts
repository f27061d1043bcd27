import { createHash } from 'node:crypto';

import { dirname } from 'node:path';

import Database from 'better-sqlite3';

import { listCells, listStoredSweeps } from '../../src/features/ls/ls.ts';
import { check } from '../../src/features/check/check.ts';
import { compare } from '../../src/features/compare/compare.ts';
import { DEFAULT_FAIL_ON } from '../../src/cli/fail-on.ts';
import type { Io } from '../../src/cli/io.ts';
import { show } from '../../src/features/show/show.ts';
import { trend } from '../../src/features/trend/trend.ts';
import type { ExitCode } from '../../src/exit-codes.ts';
import { testIo } from '../../test/support/io.ts';

type Command = (options: { readonly db: string; readonly json: true }, io: Io) => Promise<ExitCode>;

const COMMANDS: Readonly<Record<string, Command>> = {
  sweeps: (options, io) => listStoredSweeps({ ...options, last: 20 }, io),
  cells: listCells,
  show: (options, io) => show('latest', options, io),
  compare: (options, io) => compare(undefined, undefined, { ...options, failOn: DEFAULT_FAIL_ON }, io),
  check: (options, io) => check([], { ...options, failOn: DEFAULT_FAIL_ON }, io),
  trend: (options, io) => trend([], { ...options, last: 20, height: 6 }, io),
};

/** What a store says: every row of every table, and what commands make of it. */
export async function answersOf(path: string): Promise<Map<string, string>> {
  const answers = rowsOf(path);
  for (const [name, command] of Object.entries(COMMANDS)) {
    let text = '';
    // Outside of any repository: what is checked out is no part of the answer.
    const io = { ...testIo(), cwd: dirname(path), out: (more: string) => (text += more) };
    try {
      const code = await command({ db: path, json: true }, io);
      answers.set(`bench ${name}`, hashOf(`${code} ${text}`));
    } catch (error) {
      answers.set(`bench ${name}`, String(error));
    }
  }
  return answers;
}

function rowsOf(path: string): Map<string, string> {
  const answers = new Map<string, string>();
  try {
    const db = new Database(path, { readonly: true });
    const tables = db
      .prepare<[], string>(
        `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '\\_\\_%' ESCAPE '\\' ORDER BY name`,
      )
      .pluck()
      .all();
    for (const table of tables) answers.set(`rows of ${table}`, contentOf(db, table));
    db.close();
  } catch (error) {
    answers.set('the file', String(error));
  }
  return answers;
}

/** Without the checksums, which no command shows. */
function contentOf(db: Database.Database, table: string): string {
  try {
    const columns = db
      .prepare<[string], string>(`SELECT name FROM pragma_table_info(?) WHERE name <> 'row_checksum'`)
      .pluck()
      .all(table)
      .map((column) => `"${column}"`)
      .join(', ');
    const hash = createHash('sha256');
    for (const row of db.prepare(`SELECT ${columns} FROM "${table}"`).raw().iterate()) {
      hash.update(JSON.stringify(row));
    }
    return hash.digest('hex');
  } catch (error) {
    return String(error);
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
