import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, onTestFinished, test } from 'vitest';

import { startSampler } from '../../src/run/run-watch.ts';
import { stubSmi, type StubSmi } from '../support/nvidia-smi.ts';
import { untilGone } from '../support/processes.ts';

const never = new AbortController().signal;

async function started(behaviour: StubSmi = {}, gpuUuid: string | null = null) {
  const smi = stubSmi(behaviour);
  const start = await startSampler(gpuUuid, smi.env, never);
  onTestFinished(() => {
    if (start.kind === 'sampling') start.lines.stop();
  });
  return { start, lines: smi.starts().map(({ line }) => line), pid: smi.starts().at(-1)?.pid ?? 0 };
}

describe('one nvidia-smi beside the runs', () => {
  test('is asked for all GPUs, or for one, once a second', async () => {
    expect((await started()).lines).toEqual([
      '--query-gpu=timestamp,index,uuid,clocks.sm,clocks.mem,power.draw,power.limit,temperature.gpu,utilization.gpu,memory.used,clocks_event_reasons.active,pcie.link.gen.current,pcie.link.width.current --format=csv --loop=1',
    ]);
    expect((await started({}, 'GPU-1')).lines[0]).toMatch(/--loop=1 --id=GPU-1$/);
  });

  test('gives the lines that came since, and none twice', async () => {
    const { start } = await started();
    if (start.kind !== 'sampling') throw new Error(start.reason);
    expect(start.header).toMatch(/^timestamp, index, uuid, clocks\.current\.sm \[MHz\]/);
    const lines: string[] = [];
    while (lines.length < 6000) {
      await sleep(5);
      lines.push(...start.lines.take());
    }
    expect(lines[0]).toMatch(/^\d{4}\/\d\d\/\d\d [\d:.]+, 0, GPU-\S+, 1590 MHz, 3201 MHz, 412.50 W/);
    // No two of the stub's lines are alike, until it begins to repeat the first.
    expect(new Set(lines.slice(0, 6000)).size).toBe(6000);
  });

  test('of an older driver is asked for the reasons by their older name', async () => {
    const { start, lines } = await started({ older: true });
    const expected = ['clocks_event_reasons.active', 'clocks_throttle_reasons.active'];
    expect(lines.map((line) => /clocks_\w+\.active/.exec(line)?.[0])).toEqual(expected);
    expect(start.kind === 'sampling' && start.header).toContain('clocks_throttle_reasons.active');
  });

  test('that says something else is none', async () => {
    const fails = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.";
    expect((await started({ fails })).start).toEqual({ kind: 'none', reason: `"${fails}"` });
    expect((await started({ fails: '' })).start).toEqual({ kind: 'none', reason: 'it printed nothing' });
    expect(await startSampler(null, { PATH: '/nowhere' }, never)).toMatchObject({ kind: 'none' });
  });

  test('that hangs is waited for no longer than told, and ended', async () => {
    const smi = stubSmi({ hangs: '--query-gpu' });
    expect(await startSampler(null, smi.env, never, 1500)).toEqual({ kind: 'none', reason: 'it printed nothing' });
    const [first] = smi.starts();
    if (first !== undefined) await untilGone(first.pid);
    expect(smi.starts()).toHaveLength(1);
  });
});
