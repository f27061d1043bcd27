import Database from 'better-sqlite3';

import { UsageError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';

/** A table of an export: its columns, and what to trace to get it. Tables without rows are left out. */
export interface ExportTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly wanted: string;
}

/** A SQLite export of Nsight Systems, opened read-only. */
export class ExportFile {
  readonly path: string;
  private readonly client: Database.Database;
  private readonly columns: ReadonlyMap<string, ReadonlySet<string>>;

  /** @throws UsageError if there is no such file, or it is not a SQLite database */
  constructor(path: string) {
    this.path = path;
    this.client = opened(path);
    this.columns = tablesOf(this.client, path);
  }

  has(table: string, column?: string): boolean {
    const columns = this.columns.get(table);
    return columns !== undefined && (column === undefined || columns.has(column));
  }

  get tables(): string[] {
    return [...this.columns.keys()];
  }

  /** @throws UsageError naming a missing table or column, and how to get it */
  require({ name, columns, wanted }: ExportTable): void {
    if (!this.has(name)) {
      throw new UsageError(`${printable(this.path)} has no table ${name}: ${wanted}`);
    }
    const missing = columns.find((column) => !this.has(name, column));
    if (missing !== undefined) {
      throw new UsageError(
        `${printable(this.path)}: its table ${name} has no column ${missing}, so it is of a schema that is not known here; export it anew with Nsight Systems 2021.5 or newer`,
      );
    }
  }

  value(sql: string): unknown {
    return this.client.prepare(sql).pluck().get();
  }

  /** The statement must cast its columns to the type of the row. */
  rows<Row>(sql: string, parameters: Readonly<Record<string, bigint>>): Row[] {
    return this.client.prepare<[typeof parameters], Row>(sql).all(parameters);
  }

  /** Start of the earliest event, as bigint: times may count from 1970, beyond the range of exact numbers. */
  firstNs(tables: readonly string[]): bigint {
    const firsts = tables
      .filter((table) => this.has(table, 'start'))
      .flatMap((table) => {
        const first: unknown = this.client.prepare(`SELECT min(start) FROM "${table}"`).safeIntegers().pluck().get();
        return typeof first === 'bigint' ? [first] : [];
      });
    return firsts.reduce((least, first) => (first < least ? first : least), firsts[0] ?? 0n);
  }

  close(): void {
    this.client.close();
  }
}

function opened(path: string): Database.Database {
  if (/\.(?:nsys-rep|qdrep|qdstrm)$/.test(path)) {
    throw new UsageError(
      `${printable(path)} is a report of Nsight Systems: \`nsys export --type sqlite\` makes the file that is read`,
    );
  }
  try {
    return new Database(path, { readonly: true, fileMustExist: true });
  } catch (error) {
    throw new UsageError(`${printable(path)}: no such file, or it cannot be read`, { cause: error });
  }
}

function tablesOf(client: Database.Database, path: string): ReadonlyMap<string, ReadonlySet<string>> {
  try {
    const rows = client
      .prepare<[], { name: string; column: string }>(
        `SELECT t.name, c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'`,
      )
      .all();
    const byTable = Map.groupBy(rows, ({ name }) => name);
    return new Map([...byTable].map(([name, own]) => [name, new Set(own.map(({ column }) => column))]));
  } catch (error) {
    client.close();
    throw new UsageError(`${printable(path)} is no SQLite export of Nsight Systems`, { cause: error });
  }
}
