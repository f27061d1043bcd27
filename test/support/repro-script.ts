import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { STUB } from './stub.ts';

const RECORDER = join(import.meta.dirname, 'argv-recorder.sh');

export interface ScriptRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The arguments of each trtexec that it started. */
  readonly calls: readonly (readonly string[])[];
}

/** Runs a script under the `sh` of this machine, or another shell, with a trtexec that writes down its arguments. */
export function runScript(
  script: string,
  cwd: string,
  env: Readonly<Record<string, string>> = {},
  shell = 'sh',
): ScriptRun {
  const journal = join(cwd, `argv-${process.hrtime.bigint()}`);
  const done = spawnSync(shell, [script], {
    cwd,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], TRTEXEC: RECORDER, ARGV_JOURNAL: journal, ARGV_PROGRAM: STUB, ...env },
  });
  const calls = existsSync(journal) ? readFileSync(journal, 'utf8').split('\0\0\n') : [''];
  return {
    code: done.status,
    stdout: done.stdout,
    stderr: done.stderr,
    calls: calls.slice(0, -1).map((call) => call.split('\0').slice(1)),
  };
}
