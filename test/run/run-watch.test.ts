import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';

import { expect, test } from 'vitest';

import { ProcessFacts } from '../../src/machine/host-facts.ts';
import { NO_GATE } from '../../src/records/gated-metric.ts';
import { RunWatch } from '../../src/run/run-watch.ts';
import { readStoredPlan } from '../../src/run/stored-plan.ts';
import { peakProcessMib } from '../../src/tools/nvidia-smi/nvidia-smi.ts';
import { temporaryFolder } from '../support/bench.ts';
import { stubSmi, type StubSmi } from '../support/nvidia-smi.ts';

const APPS = '41, 512, /opt/trtexec\n42, 812, python3\n';

/** @param clockMs what its clock says, one after the other */
function watchWith(smi: StubSmi, processFacts: ProcessFacts, clockMs: number[] = []): RunWatch {
  return new RunWatch({
    env: stubSmi(smi).env,
    gpuUuid: 'GPU-1',
    asksForProcesses: true,
    hasSmi: true,
    processFacts,
    program: 'trtexec',
    signal: new AbortController().signal,
    onNote: () => {},
    now: () => new Date(clockMs.shift() ?? 0),
  });
}

const othersOf = async (watch: RunWatch): Promise<string[]> => (await watch.otherProcesses()).map(({ name }) => name);

test('who else is on the GPU is known at once: nobody of them is the next run', async () => {
  expect(await othersOf(watchWith({ apps: APPS }, new ProcessFacts(), [0, 30]))).toEqual(['/opt/trtexec', 'python3']);
});

test('what bench itself started is no other process, while it runs and after', async () => {
  const child = spawn('sleep', ['60']);
  const facts = new ProcessFacts();
  facts.watch(4711);
  facts.stop();
  const apps = `${child.pid}, 512, /opt/trtexec\n4711, 512, /opt/trtexec\n${APPS}`;
  expect(await othersOf(watchWith({ apps }, facts, [0, 30]))).toEqual(['/opt/trtexec', 'python3']);
  child.kill('SIGKILL');
});

test('what is answered late may be of the next run, which waits for it from then on', async () => {
  const watch = watchWith({ apps: APPS }, new ProcessFacts(), [0, 2000, 0, 2000]);
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

test('memory of a process and of what it starts: on the host its peak, on the GPU what nvidia-smi lists', async () => {
  const child = spawn(process.execPath, ['-e', 'Buffer.alloc(300 * 2 ** 20, 1); setTimeout(() => {}, 60_000)']);
  const pid = child.pid ?? 0;
  const held = [[pid, 812] as const, [1, 5000] as const];
  const facts = new ProcessFacts();
  const watch = watchWith({ held }, facts);
  await watch.begin();
  const from = new Date();
  facts.watch(pid);
  await setTimeout(2600);
  const watched = await watch.end(from, new Date(), join(temporaryFolder(), 'telemetry.csv'));
  facts.stop();
  watch.stop();
  child.kill('SIGKILL');
  expect(watched).toEqual({
    hostLoad: expect.any(Number),
    hostMemoryMaxMib: expect.any(Number),
    processMemoryMaxMib: 812,
    otherProcesses: [],
  });
  // What it has freed since is part of a peak.
  expect(watched?.hostMemoryMaxMib).toBeGreaterThan(300);
  expect(watched?.hostMemoryMaxMib).toBeLessThan(600);
});

/** As an H200 printed it. */
const sampled = (second: number, pid: string, mib: string): string =>
  ` 20261126    09:10:${second}       0        ${pid}     C   ${mib}      0    python3        `.trim();

test.each<[string, string[], number[], number | null]>([
  ['the most of its samples', [sampled(21, '7', '500'), sampled(22, '7', '812'), sampled(23, '7', '300')], [7], 812],
  ['together with its children', ['7', '8', '9'].map((pid) => sampled(21, pid, `${pid}00`)), [7, 8], 1500],
  ['of its time only', [sampled(10, '7', '900'), sampled(21, '7', '500'), sampled(31, '7', '900')], [7], 500],
  ['none on a MIG device', [sampled(21, '7', '-')], [7], null],
  ['none where numbers are those of the host', [sampled(21, '4711', '500')], [7], null],
])('memory of the GPU that a process holds: %s', (_, lines, pids, expected) => {
  const [from, to] = ['20', '30'].map((second) => new Date(`2026-11-26T09:10:${second}Z`));
  expect(peakProcessMib(lines, new Set(pids), from ?? new Date(), to ?? new Date())).toBe(expected);
});

const PLAN = {
  schemaVersion: 1,
  matrix: 'm',
  tensorrt: '10.6',
  seed: 1,
  repeats: 3,
  cells: [],
  builds: [],
  runs: [],
  notes: [],
};
const PROGRAM = { trtexec: null, replayFolder: null };

test('a plan of a time without a gate has none, and the default space for last good engines', () => {
  const stored = readStoredPlan(JSON.stringify({ plan: PLAN, program: PROGRAM }));
  expect([stored?.gate, stored?.keptLastGoodBytes]).toEqual([NO_GATE, 10e9]);
});
