#!/usr/bin/env node
// Starts dist/cli.cjs. Plain syntax: an old Node must be able to read this file and say what is wrong.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [major, minor] = process.versions.node.split('.').map(Number);
const isNewEnough = major > 22 || (major === 22 && minor >= 15);

if (isNewEnough) {
  const [flag, ...others] = process.argv.slice(2);
  if (others.length === 0 && (flag === '--version' || flag === '-V')) {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    // What cannot be written must not end in a stack.
    process.stdout.on('error', () => (process.exitCode = 3));
    process.stdout.write(`${version}\n`);
  } else {
    if (process.env.BENCH_LAUNCHER === 'pipe') endWithLauncher();
    if (existsSync(join(root, 'dist', 'cli.cjs'))) {
      // Node would make a missing temporary folder for it, and try that for ever where nobody can.
      const cache = process.env.NODE_COMPILE_CACHE;
      if (cache || existsSync(tmpdir())) module.enableCompileCache?.(cache);
      // Reading them takes time: only a stack needs them.
      if (process.env.BENCH_DEBUG) process.setSourceMapsEnabled(true);
      const { ignoreEpipe, main, processIo } = module.createRequire(import.meta.url)('../dist/cli.cjs');
      ignoreEpipe();
      process.exitCode = await main(process.argv.slice(2), processIo());
    } else {
      process.stderr.write('bench: dist/ is missing: run `npm run setup` in the clone first\n');
      process.exitCode = 3;
    }
  }
} else {
  handOver();
}

/** A newer Node from `$BENCH_NODE`, or the one that `npm run setup` brought. */
function newerNode() {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const executable = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node';
  const brought = join(root, '.tools', 'node_modules', `node-${platform}-${process.arch}`, executable);
  return [process.env.BENCH_NODE, brought].find((path) => path && existsSync(path));
}

function handOver() {
  const node = newerNode();
  if (node === undefined) {
    process.stderr.write(
      `bench: needs Node 22.15 or newer, this is ${process.versions.node}: install a newer one, set BENCH_NODE to its path, or run \`npm run setup\` in a clone\n`,
    );
    process.exitCode = 3;
    return;
  }
  // The pipe tells the child when this process is killed: it must not go on measuring for nobody.
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: { ...process.env, BENCH_LAUNCHER: 'pipe' },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // From a terminal Ctrl-C reaches the child by itself; a signal sent to this process alone does not.
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on('error', (error) => {
    process.stderr.write(`bench: ${node} cannot be started: ${error.message}\n`);
    process.exitCode = 3;
  });
  child.on('exit', (code, signal) => {
    if (signal !== null) {
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(name);
      process.kill(process.pid, signal);
    } else process.exitCode = code ?? 70;
  });
}

function endWithLauncher() {
  delete process.env.BENCH_LAUNCHER;
  import('node:net').then(({ Socket }) => {
    const pipe = new Socket({ fd: 3, readable: true });
    pipe.on('error', () => {});
    // What the launcher's death leaves is what a kill of this process would leave: `--resume` goes on from there.
    pipe.on('close', () => process.kill(process.pid, 'SIGKILL'));
    pipe.resume();
    pipe.unref();
  });
}
