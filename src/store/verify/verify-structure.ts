import Database from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';

/** What decides which rows a query finds, and as what it reads them; not the text of the statements that made it. */
const STRUCTURE = [
  `SELECT t.name, t.wr, t.strict, c.* FROM pragma_table_list t, pragma_table_xinfo(t.name) c
   WHERE t.schema = 'main' AND t.name <> 'sqlite_schema'`,
  `SELECT t.name, i.* FROM pragma_table_list t, pragma_index_list(t.name) i WHERE t.schema = 'main'`,
  `SELECT m.name, x.* FROM sqlite_schema m, pragma_index_xinfo(m.name) x WHERE m.type = 'index'`,
  `SELECT t.name, f.* FROM pragma_table_list t, pragma_foreign_key_list(t.name) f WHERE t.schema = 'main'`,
  `SELECT type, name, tbl_name FROM sqlite_schema`,
];

/** Whether the tables and indexes of a store are those that the migrations make. */
export function hasOwnStructure(client: Database.Database, migrationsFolder: string): boolean {
  const fresh = new Database(':memory:');
  try {
    migrate(drizzle(fresh), { migrationsFolder });
    return structureOf(client) === structureOf(fresh);
  } finally {
    fresh.close();
  }
}

function structureOf(client: Database.Database): string {
  const parts = STRUCTURE.map((sql) =>
    client
      .prepare<[], unknown[]>(sql)
      .raw()
      .all()
      .map((row) => JSON.stringify(row))
      .toSorted(),
  );
  return JSON.stringify(parts);
}
