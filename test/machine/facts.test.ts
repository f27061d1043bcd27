import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { parseSupportedClocks } from '../../src/machine/clock-lock.ts';
import { bindingOf, containerImage, libraryVersion, numaNodeOf } from '../../src/machine/host-facts.ts';
import { chooseClocks, coolDown, readClockRequest, readCoolDown } from '../../src/machine/requests.ts';
import { bench, ROOT } from '../support/bench.ts';
import { GPU_TRTEXEC, GpuMachine } from '../support/gpu-machine.ts';
import { stubMatrix } from '../support/stub.ts';
import { batchMatrix } from '../support/trouble.ts';

test.each([
  [{}, null, null],
  [{}, 'engine="podman-4.9"\nname="x"\nimage="docker.io/library/trt:24.10"\n', 'docker.io/library/trt:24.10'],
  [{ CONTAINER_IMAGE: 'nvcr.io/nvidia/tensorrt:24.10-py3' }, 'image="other"', 'nvcr.io/nvidia/tensorrt:24.10-py3'],
  [{ APPTAINER_CONTAINER: '/home/someone/trt.sif' }, null, 'trt.sif'],
])('the image of a container: %j, %j', (env, containerenv, image) => {
  expect(containerImage(env, containerenv)).toBe(image);
});

test('CPUs to which bench itself is bound are those of its runs', () => {
  const status = 'Cpus_allowed:\tf\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n';
  expect([bindingOf(status, '0-3'), bindingOf(status, '0-7')]).toEqual(['nothing', 'CPUs 0-3']);
  expect([bindingOf(null, '0-7'), bindingOf(status, null)]).toEqual([null, null]);
});

test('a GPU that is nowhere is on no NUMA node', () => {
  expect(numaNodeOf('0000FFFF:FF:1F.7')).toBeNull();
  expect([numaNodeOf('../../etc/passwd'), numaNodeOf(null)]).toEqual([null, null]);
});

describe('the TensorRT library among the mappings of a process', () => {
  const line = (path: string): string => `7f00-7f01 r--p 00000000 08:01 1234      ${path}\n`;

  test.each([
    ['/usr/lib/x86_64-linux-gnu/libnvinfer.so.10.6.0', '10.6.0'],
    ['/usr/lib/libnvinfer.so.10.6.0 (deleted)', '10.6.0'],
    // A wheel has no more in its name.
    ['/venv/tensorrt_libs/libnvinfer.so.10', '10'],
    ['/usr/lib/libnvinfer_plugin.so.10.6.0', null],
    ['/data/libnvinfer.so.10.6.0.bak', null],
  ])('%s', (path, version) => {
    expect(libraryVersion(line('/usr/lib/libc.so.6') + line(path) + line('/usr/lib/libm.so.6'))).toBe(version);
  });
});

describe('what a clock request comes to', () => {
  const supported = [1980, 1965, 1605, 1590, 345];

  test.each([
    ['base', 'base'],
    ['max', 'max'],
    ['1590', 1590],
    ['1590MHz', 1590],
    ['0', null],
    ['1590,1590', null],
    ['', null],
  ])('%j', (text, request) => expect(readClockRequest(text)).toBe(request));

  test.each([
    ['base', { bounds: 'tdp,tdp', limitMhz: null, policy: 'locked base' }],
    ['max', { bounds: '1980,1980', limitMhz: 1980, policy: 'locked 1980 MHz' }],
    [1590, { bounds: '1590,1590', limitMhz: 1590, policy: 'locked 1590 MHz' }],
  ] as const)('%s', (request, clocks) => expect(chooseClocks(request, supported, 'GPU 0')).toEqual(clocks));

  test.each([
    [1600, '1605 and 1590'],
    [2000, '1980'],
    [100, '345'],
  ])('%i MHz is none: the nearest are said', (mhz, nearest) => {
    expect(() => chooseClocks(mhz, supported, 'GPU 0')).toThrow(
      `clocks of GPU 0: ${mhz} MHz is not one of its clocks: the nearest are ${nearest} MHz (it has 345 to 1980 MHz)`,
    );
  });

  test('without a list only base can be asked for', () => {
    expect(() => chooseClocks(1590, [], 'GPU 0')).toThrow('cannot be checked');
    expect(chooseClocks('base', [], 'GPU 0')).toMatchObject({ policy: 'locked base' });
  });

  test('the list of an H200, and of a board with two memory clocks', () => {
    const path = join(ROOT, 'test', 'fixtures', 'nvidia-smi', 'supported-clocks-h200.csv');
    const h200 = parseSupportedClocks(readFileSync(path, 'utf8'));
    expect([h200.length, h200[0], h200[1], h200.at(-1)]).toEqual([110, 1980, 1965, 345]);
    expect(parseSupportedClocks('405, 300\n5001, 1590\n5001, 300\n')).toEqual([1590, 300]);
    expect(parseSupportedClocks('[N/A], [N/A]\n')).toEqual([]);
  });
});

const never = new AbortController().signal;

/** What was waited for and told, by a clock and a thermometer of its own; the last temperature stays. */
async function cooled(temperatures: readonly (number | null)[], maxC: number) {
  const waits: number[] = [];
  const notes: string[] = [];
  const temperatureC = async () => temperatures[Math.min(waits.length, temperatures.length - 1)] ?? null;
  const gpu = { temperatureC, onNote: (note: string) => notes.push(note) };
  await coolDown({ kind: 'temperature', maxC, longestS: 120 }, gpu, never, async (ms) => waits.push(ms));
  return { waits, notes };
}

describe('before a timed run', () => {
  test('what can be asked for', () => {
    expect(readCoolDown('10s')).toEqual({ kind: 'pause', seconds: 10 });
    expect(readCoolDown('1.5m')).toEqual({ kind: 'pause', seconds: 90 });
    expect(readCoolDown('45 °C')).toEqual({ kind: 'temperature', maxC: 45, longestS: 300 });
    expect(readCoolDown('45C/2m')).toEqual({ kind: 'temperature', maxC: 45, longestS: 120 });
    for (const wrong of ['', '/', '10', '5C', '300C', '-1s', '2h', 'cold', '45C/', '/2m', '45C/2h', '45C2m'])
      expect(readCoolDown(wrong)).toBeNull();
  });

  test('it is waited until the GPU is cool enough', async () => {
    expect(await cooled([61, 52, 45], 45)).toEqual({ waits: [1000, 1000], notes: [] });
    expect(await cooled([40], 45)).toEqual({ waits: [], notes: [] });
  });

  test('one that stays warm is waited for until the limit', async () => {
    const { notes, waits } = await cooled([70], 45);
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBe(120_000);
    expect(notes).toEqual(['the GPU is still at 70 °C after 120 s: measured anyway']);
  });

  test('a run that heat throttled is repeated when the GPU is 10 °C cooler', async () => {
    const machine = new GpuMachine(1, { hot: true, temperatures: [80, 80, 78, 77] });
    const matrix = batchMatrix(machine.folder, [1], ['repeats: 1']);
    const args = ['run', matrix, '--trtexec', GPU_TRTEXEC, '--db', join(machine.folder, 'bench.sqlite')];
    const { stderr } = await bench(args, { env: { ...machine.env, STUB_DELAY_MS: '1400' } });
    expect(stderr.match(/by heat: it cools down to 77 °C, or for 300 s, before the run is repeated/g)).toHaveLength(1);
    const [, throttled, again] = machine.spans;
    expect((again?.startMs ?? 0) - (throttled?.endMs ?? 0)).toBeGreaterThanOrEqual(2000);
  });

  test('one whose temperature is not read repeats the run at once', async () => {
    const unread = new GpuMachine(1, { hot: true, temperatures: [] });
    const matrix = batchMatrix(unread.folder, [1], ['repeats: 1']);
    const args = ['run', matrix, '--trtexec', GPU_TRTEXEC, '--db', join(unread.folder, 'bench.sqlite')];
    const repeated = await bench(args, { env: { ...unread.env, STUB_DELAY_MS: '1400' } });
    expect(repeated.stderr).toContain('nvidia-smi reports no temperature: bench does not wait before runs');
    expect(repeated.stderr).not.toContain('it cools down to');
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
