import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { startProgram } from '../../../src/features/check/notify.ts';
import { spawnProcess } from '../../../src/process/spawn.ts';
import { temporaryFolder } from '../../support/bench.ts';
import { testIo } from '../../support/io.ts';

/** What notify said of a program with these lines of sh, in a folder of its own. */
async function notified(...lines: readonly string[]) {
  const cwd = temporaryFolder();
  const program = join(cwd, 'tell');
  writeFileSync(program, ['#!/bin/sh', ...lines, ''].join('\n'));
  chmodSync(program, 0o755);
  let said = '';
  const io = { ...testIo(), cwd, env: process.env, spawn: spawnProcess, err: (text: string) => void (said += text) };
  const isDone = await startProgram([program, 'a b', '$HOME'], '{"findings": 2}', io);
  const read = (name: string): string => (existsSync(join(cwd, name)) ? readFileSync(join(cwd, name), 'utf8') : '');
  return { isDone, said: said.replace(program, 'tell'), read };
}

test('a failure is said with the last line that it printed', async () => {
  const { isDone, said } = await notified(
    'echo sent',
    'echo "first" >&2',
    'printf "no \\033[31mroute\\n" >&2',
    'exit 7',
  );
  expect(isDone).toBe(false);
  expect(said).toBe(
    'note: notify: tell: exit code 7: no \\u001b[31mroute; what was found is as it is, and the next check tries again\n',
  );
});

test('one that does not end is ended after 30 s', async () => {
  let said = '';
  let limitMs = 0;
  const io = {
    ...testIo(),
    spawn: async (invocation: Parameters<typeof spawnProcess>[0]) => {
      limitMs = invocation.timeoutMs;
      return {
        exitCode: null,
        signal: 'SIGTERM',
        timedOut: true,
        limit: null,
        cancelled: false,
        logTooLong: false,
        startProblem: null,
        startedAt: new Date(0),
        wallS: 30,
      };
    },
    err: (text: string) => void (said += text),
  };
  expect(await startProgram(['slow'], '{}', io)).toBe(false);
  expect([limitMs, said]).toEqual([
    30_000,
    'note: notify: slow: ended after 30 s; what was found is as it is, and the next check tries again\n',
  ]);
});
