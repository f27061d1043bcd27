import { setImmediate } from 'node:timers/promises';

import { expect, test } from 'vitest';

import { RunWatch } from '../../src/run/run-watch.ts';
import { stubSmi } from '../support/nvidia-smi.ts';

const APPS = '41, 512, /opt/trtexec\n42, 812, python3\n';

/** @param clockMs what its clock says, one after the other */
function watchWith(clockMs: number[]): RunWatch {
  return new RunWatch({
    env: stubSmi({ apps: APPS }).env,
    gpuUuid: 'GPU-1',
    asksForProcesses: true,
    hasSmi: true,
    program: 'trtexec',
    signal: new AbortController().signal,
    onNote: () => {},
    now: () => new Date(clockMs.shift() ?? 0),
  });
}

async function othersOf(watch: RunWatch): Promise<string[]> {
  return (await watch.otherProcesses()).map(({ name }) => name);
}

test('who else is on the GPU is known at once: nobody of them is the next run', async () => {
  expect(await othersOf(watchWith([0, 30]))).toEqual(['/opt/trtexec', 'python3']);
});

test('what is answered late may be of the next run, which waits for it from then on', async () => {
  const watch = watchWith([0, 2000, 0, 2000]);
  expect(await othersOf(watch)).toEqual(['python3']);
  await watch.begin();
  const order: string[] = [];
  const begun = async (): Promise<void> => {
    await watch.begin();
    await setImmediate();
    order.push('the next run');
  };
  const asked = async (): Promise<void> => {
    order.push(...(await othersOf(watch)));
  };
  await Promise.all([asked(), begun()]);
  watch.stop();
  expect(order).toEqual(['/opt/trtexec', 'python3', 'the next run']);
});
