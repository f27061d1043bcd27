import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { readCoolDown } from '../../src/machine/requests.ts';
import { coolDown } from '../../src/machine/cool-down.ts';
import { bench } from '../support/bench.ts';
import { GPU_TRTEXEC, GpuMachine } from '../support/gpu-machine.ts';
import { stubMatrix } from '../support/stub.ts';

const never = new AbortController().signal;

/** What was waited for and told, by a clock and a thermometer of its own; the last temperature stays. */
async function cooled(temperatures: readonly (number | null)[], maxC: number) {
  const waits: number[] = [];
  const notes: string[] = [];
  const temperatureC = async () => temperatures[Math.min(waits.length, temperatures.length - 1)] ?? null;
  const gpu = { temperatureC, onNote: (note: string) => notes.push(note) };
  await coolDown({ kind: 'temperature', maxC }, gpu, never, async (ms) => waits.push(ms));
  return { waits, notes };
}

describe('before a timed run', () => {
  test('what can be asked for', () => {
    expect(readCoolDown('10s')).toEqual({ kind: 'pause', seconds: 10 });
    expect(readCoolDown('1.5m')).toEqual({ kind: 'pause', seconds: 90 });
    expect(readCoolDown('45C')).toEqual({ kind: 'temperature', maxC: 45 });
    expect(readCoolDown('45 °C')).toEqual({ kind: 'temperature', maxC: 45 });
    for (const wrong of ['', '10', '5C', '300C', '-1s', '2h', 'cold']) {
      expect(readCoolDown(wrong)).toBeNull();
    }
  });

  test('it is waited until the GPU is cool enough', async () => {
    expect(await cooled([61, 52, 45], 45)).toEqual({ waits: [1000, 1000], notes: [] });
    expect(await cooled([40], 45)).toEqual({ waits: [], notes: [] });
  });

  test('one that stays warm is waited for five minutes', async () => {
    const { notes, waits } = await cooled([70], 45);
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBe(300_000);
    expect(notes).toEqual(['the GPU is still at 70 °C after 5 min: measured anyway']);
  });

  test('of each timed run, and of no build', async () => {
    const machine = new GpuMachine(1);
    const matrix = stubMatrix(machine.folder, ['repeats: 1', 'coolDown: 0.7s']);
    const db = join(machine.folder, 'bench.sqlite');
    const args = ['run', matrix, '--trtexec', GPU_TRTEXEC, '--db', db, '--no-telemetry'];
    expect((await bench(args, { env: machine.env })).code).toBe(0);
    const [build, first, second] = machine.spans;
    expect(build?.role).toBe('build');
    expect((first?.startMs ?? 0) - (build?.endMs ?? 0)).toBeGreaterThanOrEqual(700);
    expect((second?.startMs ?? 0) - (first?.endMs ?? 0)).toBeGreaterThanOrEqual(700);
  });
});
