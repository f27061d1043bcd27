#!/usr/bin/env node
// Stands in for a trtexec that gets into trouble; what has none is answered by stub-trtexec.mjs. TROUBLE (JSON) says
// which: [{"when": "text in the command line", "does": ..., "times": 1}]. TROUBLE_FOLDER gets the pids of what it
// starts (`pids`) and counts how often each rule was used.
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, openSync, readFileSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const line = process.argv.slice(2).join(' ');
const folder = process.env.TROUBLE_FOLDER ?? '';
const rules = JSON.parse(process.env.TROUBLE ?? '[]');
const rule = rules.find(({ when, times }, index) => {
  if (!line.includes(when)) return false;
  if (times === undefined) return true;
  const path = join(folder, `used-${index}`);
  const used = existsSync(path) ? readFileSync(path, 'utf8').length : 0;
  if (used >= times) return false;
  appendFileSync(path, '.');
  return true;
});

const say = (text) => process.stdout.write(`[11/21/2026-07:33:53] [I] ${text}\n`);
const valueOf = (flag) => process.argv.find((arg) => arg.startsWith(`${flag}=`))?.split('=')[1];

function begin() {
  process.stdout.write(`&&&& RUNNING TensorRT.trtexec [TensorRT v100600] [b26] # trtexec ${line}\n`);
  say('=== Model Options ===');
  say('Loading standard plugins');
}

/** Long after every test is over; a test that waits for it has failed anyway. */
function wait() {
  setTimeout(() => process.exit(9), 120_000);
}

/** A child that ignores signals too, and leaves the process group by setsid. */
function startChild() {
  const script = 'process.on("SIGTERM", () => {}); setTimeout(() => {}, 120000)';
  const child = spawn(process.execPath, ['-e', script], { detached: true, stdio: 'ignore' });
  child.unref();
  appendFileSync(join(folder, 'pids'), `${process.pid}\n${child.pid}\n`);
}

function fail(text) {
  begin();
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}

/** Writes until there is no room, as a large engine does. */
function fill(path) {
  const fd = openSync(path, 'w');
  for (const size of [1 << 18, 1 << 12]) {
    try {
      for (;;) writeSync(fd, Buffer.alloc(size, 'e'));
    } catch {
      // The rest is filled in smaller pieces.
    }
  }
}

function isRunning(pid) {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

const FAILURES = {
  busy: 'Cuda failure: all CUDA-capable devices are busy or unavailable',
  lost: '[11/21/2026-07:33:53] [E] [TRT] 1: [defaultAllocator.cpp] Error Code 1: Cuda Runtime (GPU is lost)',
  notReady: 'Cuda failure: system not yet initialized',
  outOfMemory: 'Cuda failure: out of memory',
  deviceNotReady: 'Cuda failure: device not ready',
  // As 10.6 prints it of a plugin that nobody registered.
  noPlugin: `[11/22/2026-12:29:57] [E] [TRT] IPluginRegistry::getCreator: Error Code 4: API Usage Error (Cannot find plugin: MyPlugin_TRT, version: 1, namespace:.)
[11/22/2026-12:29:57] [E] Failed to parse onnx file`,
  // As 10.6 prints it, which starts without.
  noLibrary:
    '[11/21/2026-07:37:45] [E] Uncaught exception detected: Unable to open library: libnvinfer_plugin.so.10 due to libnvinfer_plugin.so.10: cannot open shared object file: No such file or directory',
};

const PASSED = `&&&& PASSED TensorRT.trtexec [TensorRT v100600] # trtexec ${line}\n`;

/** A trouble that it lives through, before or while it answers as ever. */
const DISTURBED = {
  waitsForFile() {
    writeFileSync(`${process.env.TROUBLE_GATE}.waits`, String(process.pid));
    const nap = new Int32Array(new SharedArrayBuffer(4));
    while (!existsSync(process.env.TROUBLE_GATE)) Atomics.wait(nap, 0, 0, 20);
  },
  /** Whether the one that waits still runs. */
  looksBeside: () => appendFileSync(join(folder, 'beside'), `${isRunning(Number(process.env.TROUBLE_BESIDE))}\n`),
  leavesDaemon: () => startChild(),
  guesses: () =>
    process.stderr.write(
      '[W] Dynamic dimensions required for input: x, but no shapes were provided. Automatically overriding shape to: 1\n',
    ),
  leavesFile() {
    writeFileSync(join(process.env.TMPDIR, 'weights'), line);
    appendFileSync(join(folder, 'temporary'), `${process.env.TMPDIR}\n`);
  },
  /** Between banner and summary: one stays in the head of the log, the other in its tail. */
  printsMuch() {
    const bytes = Number(process.env.TROUBLE_BYTES);
    const chunk = Buffer.from('[11/21/2026-07:33:53] [V] a tactic that is timed and not taken\n'.repeat(1 << 13));
    const write = process.stdout.write.bind(process.stdout);
    process.stdout.write = (text, ...more) => {
      if (String(text).includes('Starting inference')) {
        for (let written = 0; written < bytes; written += chunk.length) writeSync(1, chunk);
      }
      return write(text, ...more);
    };
  },
  halfExport: () => process.on('exit', () => truncateSync(valueOf('--exportTimes'), 3000)),
  fillsOtherDisk: () => fill(process.env.TROUBLE_FILL),
};

/** Ignores signals, as its child does. */
function holdOut() {
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => {});
  startChild();
}

/** A trouble after which it says no more. */
const STOPPED = {
  silent: wait,
  hangsInTimedPart() {
    begin();
    say('Starting inference');
    holdOut();
    wait();
  },
  stops() {
    begin();
    process.kill(process.pid, 'SIGSTOP');
    wait();
  },
  diesHalfWay() {
    begin();
    say('Starting inference');
    process.kill(process.pid, 'SIGKILL');
  },
  /** Like trtexec it says nothing of what it could not write, and passes. */
  fillsDisk() {
    begin();
    fill(valueOf(line.includes('--saveEngine') ? '--saveEngine' : '--exportTimes'));
    try {
      writeSync(1, PASSED);
    } catch {
      // Its log has no room either.
    }
  },
  killsBench() {
    begin();
    holdOut();
    process.kill(process.ppid, 'SIGKILL');
    wait();
  },
};

const { does } = rule ?? {};
if (does in FAILURES) fail(FAILURES[does]);
else if (does in STOPPED) STOPPED[does]();
else {
  DISTURBED[does]?.();
  await import('./stub-trtexec.mjs');
}
