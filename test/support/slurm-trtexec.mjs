#!/usr/bin/env node
// The stub of trtexec inside a Slurm task, told by files in $STUB_GATE what to do: `closed-3` keeps the runs of task 3
// waiting while it is there (those with its text in their arguments; `waiting-3` says so), `kill-3` kills its worker, `version-3` makes it
// another TensorRT. Every number is made up.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

const task = process.env.SLURM_ARRAY_TASK_ID ?? 'none';
const pathOf = (what) => join(process.env.STUB_GATE ?? '/nowhere', `${what}-${task}`);
const isClosed = () => {
  try {
    return process.argv.join(' ').includes(readFileSync(pathOf('closed'), 'utf8'));
  } catch {
    return false;
  }
};

if (existsSync(pathOf('version'))) process.env.STUB_VERSION = '080600';
if (process.argv.some((arg) => arg.startsWith('--loadEngine'))) {
  if (existsSync(pathOf('kill'))) process.kill(process.ppid, 'SIGKILL');
  while (isClosed()) {
    writeFileSync(pathOf('waiting'), '');
    await sleep(50);
  }
}
await import('./stub-trtexec.mjs');
