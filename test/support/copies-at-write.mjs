// Loaded before bench: before each statement that writes to a store it copies what a SIGKILL would leave there then,
// $COPIED to $COPIES/1, $COPIES/2 and so on.
import { cpSync } from 'node:fs';
import { env } from 'node:process';

import Database from 'better-sqlite3';

let copies = 0;
const { prepare } = Database.prototype;
Database.prototype.prepare = function prepareCopying(sql) {
  const statement = prepare.call(this, sql);
  if (statement.readonly) return statement;
  for (const name of ['run', 'get', 'all']) {
    const execute = statement[name];
    statement[name] = (...values) => {
      cpSync(env.COPIED, `${env.COPIES}/${(copies += 1)}`, { recursive: true });
      return execute.apply(statement, values);
    };
  }
  return statement;
};
