// Loaded before bench: kills the process before its statement number $DIES_AT_WRITE that writes to a store.
import process from 'node:process';

import Database from 'better-sqlite3';

let left = Number(process.env.DIES_AT_WRITE);
const { prepare } = Database.prototype;
Database.prototype.prepare = function prepareCounted(sql) {
  const statement = prepare.call(this, sql);
  if (statement.readonly) return statement;
  for (const name of ['run', 'get', 'all']) {
    const execute = statement[name];
    statement[name] = (...values) => {
      left -= 1;
      if (left === 0) process.kill(process.pid, 'SIGKILL');
      return execute.apply(statement, values);
    };
  }
  return statement;
};
