// Runs a process under the lock of a GPU, as a bench runs trtexec, and prints its number: node locked-sleeper.ts GPU
import { tmpdir } from 'node:os';

import { spawnProcess } from '../../src/process/spawn-process.ts';
import { takeGpu } from '../../src/run/gpu-worker.ts';

const [, , name = ''] = process.argv;
const { signal } = new AbortController();
const lock = await takeGpu(name, process.env, () => {}, { signal, onWait: () => {} });
await spawnProcess(
  {
    file: process.execPath,
    // Longer than any test.
    args: ['-e', 'setTimeout(() => {}, 600_000)'],
    cwd: tmpdir(),
    env: {},
    stdoutPath: '/dev/null',
    stderrPath: '/dev/null',
    timeoutMs: 0,
    locks: [lock.descriptor],
  },
  signal,
  (pid) => void process.stdout.write(`${pid}\n`),
);
lock.release();
