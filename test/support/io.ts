import type { Io } from '../../src/cli/io.ts';
import { makeLook } from '../../src/terminal/look.ts';

/** What a command may touch, without a terminal and with nothing to read. */
export function testIo(): Io {
  const look = makeLook(100, false);
  return {
    cwd: process.cwd(),
    env: {},
    now: () => new Date(0),
    out: () => {},
    err: () => {},
    stdin: nothing(),
    isInteractive: false,
    spawn: () => Promise.reject(new Error('nothing is to be started here')),
    look,
    errLook: look,
    signal: new AbortController().signal,
  };
}

async function* nothing(): AsyncGenerator<Buffer> {}
