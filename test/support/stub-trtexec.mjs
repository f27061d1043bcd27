#!/usr/bin/env node
// Stands in for trtexec in tests: takes its command line, prints what it would print and writes what it would write.
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import process from 'node:process';

import { answer, markerOf, ruleOf } from './stub-answer.mjs';

const start = { args: process.argv.slice(2), env: process.env, cwd: process.cwd() };
const rule = ruleOf(start);
const isHelp = start.args.includes('--help');
const out = (text) => process.stdout.write(text);
const err = (text) => process.stderr.write(text);

/** Ends by itself long after every test is over. */
function wait() {
  setTimeout(() => process.exit(9), 120_000);
}

function begin() {
  if (process.env.STUB_JOURNAL) appendFileSync(process.env.STUB_JOURNAL, `${start.args.join(' ')}\n`);
  out(`&&&& RUNNING ${markerOf(start)}\n`);
}

if (rule === 'crash' && !isHelp) {
  begin();
  err('[11/21/2026-07:33:53] [E] [TRT] Cuda failure: out of memory\n');
  process.kill(process.pid, 'SIGABRT');
} else if (['hangs', 'lasts', 'stubborn'].includes(rule) && !isHelp) {
  begin();
  if (rule === 'stubborn') for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => {});
  // A child of its own, as a plugin or a wrapper script might start: it must not outlive the run.
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 120000)'], { stdio: 'ignore' });
  if (process.env.STUB_PIDS) appendFileSync(process.env.STUB_PIDS, `${process.pid}\n${child.pid}\n`);
  // bench may end it from here on.
  if (rule === 'lasts') out('[11/21/2026-07:33:53] [I] Starting inference\n');
  wait();
} else {
  const { last, exitCode } = answer(start, { out, err });
  process.exitCode = exitCode;
  const delay = exitCode === 0 && !isHelp ? Number(process.env.STUB_DELAY_MS ?? 0) : 0;
  setTimeout(() => out(last), delay);
}
