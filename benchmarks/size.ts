import process from 'node:process';

/** With `--small` everything is done once, with little data: that a benchmark still works is all that it says then. */
export const IS_SMALL = process.argv.includes('--small');

export function sized<Value>(whole: Value, small: Value): Value {
  return IS_SMALL ? small : whole;
}
