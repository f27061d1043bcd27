import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';

import { gatherFacts, gpusFacts } from '../../../src/features/doctor/gather.ts';
import { testIo } from '../../support/io.ts';
import { change } from '../../support/store-dump.ts';
import { OUTPUTS, benchJson, jsonOf } from '../../support/outputs.ts';
import { storeIn } from '../../support/made-stores.ts';
import { Lock, tryAcquire } from '../../../src/process/lock.ts';
import { bench, ROOT, temporaryFolder, refusal } from '../../support/bench.ts';
import { FAKE_GPU, FakeGpu } from '../../support/fake-gpu.ts';
import { H200_REPORT, stubSmi } from '../../support/nvidia-smi.ts';
import { fakeTools } from '../../support/fake-tools.ts';
import { STUB } from '../../support/stub.ts';

const NODE = dirname(process.execPath);

/** A machine of which nothing is there but Node, and what the test puts on PATH. */
class Bare {
  readonly folder = temporaryFolder();
  readonly db = join(this.folder, 'bench.sqlite');

  env(scripts: Readonly<Record<string, string>> = {}, more: Record<string, string> = {}) {
    const tools = fakeTools(join(this.folder, 'tools'), scripts);
    return { PATH: [tools, NODE].join(delimiter), BENCH_LOCK_DIR: join(this.folder, 'locks'), ...more };
  }

  doctor(env: Record<string, string>, ...args: string[]) {
    return bench(['doctor', '--db', this.db, ...args], { env, cwd: this.folder });
  }

  async checks(env: Record<string, string>, ...args: string[]) {
    const doctor = ['doctor', '--db', this.db, ...args];
    const { code, json } = await benchJson(OUTPUTS.doctor, doctor, { env, cwd: this.folder });
    return { code, stateOf: (id: string) => json.checks.find((check) => check.id === id) };
  }
}

describe('a machine without trtexec and GPU', () => {
  test('exit code 3, what to do, and what works all the same', async () => {
    const machine = new Bare();
    const { code, stdout, stderr } = await machine.doctor(machine.env());
    expect([code, stderr]).toEqual([3, '']);
    const [first, second] = stdout.split('\n');
    expect(first).toBe('not ready to measure: see trtexec, GPU');
    expect(second).toContain('Without trtexec or a GPU bench works on recorded runs');
    expect(stdout).toContain('bench run matrices/quickstart.yaml --replay night1');
    expect(stdout).toContain('→ export TRTEXEC=/path/to/trtexec');
    expect(stdout).toContain('nvidia-smi: not found on PATH');
  });

  test('a matrix that replays recordings needs neither', async () => {
    const machine = new Bare();
    const { code, stdout } = await machine.doctor(machine.env(), '--matrix', join(ROOT, 'matrices', 'quickstart.yaml'));
    expect([code, stdout.split('\n')[0]]).toEqual([0, expect.stringMatching(/^ready to replay recordings: /)]);
  });

  test('nothing but a command is wider than the terminal', async () => {
    const machine = new Bare();
    const { stdout } = await machine.doctor(machine.env({}, { COLUMNS: '60' }));
    const lines = stdout.split('\n').filter((line) => !line.startsWith('  → '));
    expect(lines.filter((line) => stringWidth(line) > 60)).toEqual([]);
  });
});

describe('a machine with both', () => {
  test('is ready, with what could be steadier', async () => {
    const gpu = new FakeGpu();
    const env = gpu.env();
    const args = ['doctor', '--db', join(gpu.folder, 'bench.sqlite'), '--trtexec', STUB];
    const { code, stdout } = await bench(args, { env });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ready to measure: \d+ warnings?, \d+ of advice\n/);
    expect(stdout).toMatch(/✓ runs +TensorRT 10\.6\.0\n/);
    expect(stdout).toMatch(/✓ visible +0: NVIDIA H200 GPU-0{8}/);
    expect(stdout).toMatch(/○ exclusive +Default: any other process/);
    expect([stdout, gpu.changes]).toEqual([expect.stringContaining('→ sudo bench run MATRIX --lock-clocks base'), []]);
  });

  test('the library that the loader finds is named with its version', async () => {
    const machine = new Bare();
    const lib = join(machine.folder, 'lib');
    mkdirSync(lib);
    writeFileSync(join(lib, 'libnvinfer.so.10.6.0'), '');
    symlinkSync('libnvinfer.so.10.6.0', join(lib, 'libnvinfer.so.10'));
    const ldd = 'echo "	libcudart.so.12 => /usr/lib/libcudart.so.12 (0x00007f00)"';
    const env = machine.env({ ldd, ldconfig: '' });
    const args = ['--trtexec', STUB];
    const lost = await machine.checks(env, ...args);
    const evidence = 'the loader does not find libnvinfer.so.10';
    expect(lost.stateOf('trtexec.library')).toMatchObject({ state: 'failed', evidence });
    const { stateOf } = await machine.checks({ ...env, LD_LIBRARY_PATH: lib }, ...args);
    const versioned = expect.stringMatching(/libnvinfer\.so\.10\.6\.0 \(10\.6\.0\)$/);
    expect(stateOf('trtexec.library')).toMatchObject({ state: 'ok', evidence: versioned });
    const cached = `echo "	libnvinfer.so.10 (libc6,x86-64) => ${lib}/libnvinfer.so.10"`;
    const byCache = await machine.checks(machine.env({ ldd, ldconfig: cached }), ...args);
    expect(byCache.stateOf('trtexec.library')?.state).toBe('ok');
    const byLink = await machine.checks(machine.env({ ldd: 'echo "	libnvinfer.so.8 => not found"' }), ...args);
    expect(byLink.stateOf('trtexec.library')?.evidence).toBe('the loader does not find libnvinfer.so.8');
  });

  test('the driver is held against the CUDA that trtexec is linked with', async () => {
    const gpu = new FakeGpu();
    const old = join(gpu.folder, 'old.xml');
    const driver = '<driver_version>510.47</driver_version><gpu id="0"><uuid>GPU-1</uuid></gpu>';
    writeFileSync(old, `<nvidia_smi_log>${driver}</nvidia_smi_log>`);
    const machine = new Bare();
    const tools = { ldd: 'echo "	libcudart.so.12 => /usr/lib/libcudart.so.12 (0x00007f00)"' };
    const withGpu = (scripts: Record<string, string>) => {
      const { PATH, ...env } = machine.env(scripts);
      return { ...gpu.env({ report: old }), ...env, PATH: [PATH, join(gpu.folder, 'bin')].join(delimiter) };
    };
    const linked = await machine.checks(withGpu(tools), '--trtexec', STUB);
    expect(linked.code).toBe(3);
    const evidence = '510.47; TensorRT was built for CUDA 12, which needs 525 or newer';
    expect(linked.stateOf('gpu.driver')).toMatchObject({ state: 'failed', evidence });
  });
});

describe('the store', () => {
  async function damaged(db: string): Promise<void> {
    await storeIn(dirname(db), 'pair');
    writeFileSync(db, Buffer.alloc(8192, 0xa5), { flag: 'r+' });
  }

  test.each<[string, (db: string) => void | Promise<void>, string]>([
    ['text', (db) => writeFileSync(db, 'no database, but long enough to be none'), 'is not a SQLite file'],
    ['a folder', (db) => void mkdirSync(db), 'is a folder'],
    ['one with a page of garbage', damaged, ''],
  ])('that is %s', async (_, make, said) => {
    const machine = new Bare();
    await make(machine.db);
    const { code, stateOf } = await machine.checks(machine.env());
    expect(code).toBe(3);
    const evidence = expect.stringContaining(said);
    expect(stateOf('store.database')).toMatchObject({ state: 'failed', essential: true, evidence });
  });

  test('that is there is counted, and neither made nor changed', async () => {
    const machine = new Bare();
    const none = await machine.checks(machine.env());
    expect(none.stateOf('store.database')?.evidence).toContain('the first bench run creates it');
    await storeIn(machine.folder, 'pair');
    const { stateOf } = await machine.checks(machine.env());
    const counted = expect.stringMatching(/bench\.sqlite: \d+ KiB, 1 sweep$/);
    expect(stateOf('store.database')).toMatchObject({ state: 'ok', evidence: counted });
  });
});

test('clocks that a bench holds are said, with the process', async () => {
  const gpu = new FakeGpu();
  const report = join(gpu.folder, 'report.xml');
  const inside = `<uuid>${FAKE_GPU}</uuid><clocks><sm_clock>1590 MHz</sm_clock></clocks>`;
  writeFileSync(report, `<nvidia_smi_log><gpu id="0">${inside}</gpu></nvidia_smi_log>`);
  mkdirSync(gpu.lockFolder);
  const note = { gpuUuid: FAKE_GPU, gpuName: 'Stub GPU', policy: 'locked 1590 MHz', lockedAt: '2026-11-21T02:00:00Z' };
  const lock = tryAcquire(join(gpu.lockFolder, `clocks-${FAKE_GPU}.json`), { note });
  const args = ['doctor', '--db', join(gpu.folder, 'a.sqlite'), '--trtexec', STUB];
  const { stdout, stderr } = await bench(args, { env: gpu.env({ report }) });
  expect(stderr).toBe('');
  if (lock instanceof Lock) lock.release();
  expect(stdout).toMatch(new RegExp(`locked 1590 MHz by a bench that runs\\s+\\(process ${process.pid}\\)`));
});

test('tools that hang are given up, all at once', async () => {
  const machine = new Bare();
  const names = ['nvidia-smi', 'python3', 'nsys', 'sbatch', 'git', 'trtexec', 'ldd'];
  const sleep = { PATH: `${join(machine.folder, 'tools')}${delimiter}/bin${delimiter}/usr/bin` };
  fakeTools(join(machine.folder, 'tools'), Object.fromEntries(names.map((name) => [name, 'exec sleep 600'])));
  const io = { ...testIo(), env: sleep, cwd: machine.folder };
  const examined = { storePath: machine.db, trtexec: undefined, matrix: null };
  const facts = await gatherFacts(examined, { toolMs: 200, trtexecMs: 300 }, io);
  const silent = { kind: 'silent', afterS: 0.2 };
  const late = { help: { kind: 'failed', problem: expect.stringContaining('gave no answer in 0.3 s') } };
  const tools = { nsys: silent, slurm: silent, git: silent, python: { answer: silent } };
  expect(facts).toMatchObject({ ...tools, gpus: { kind: 'none', answer: silent }, trtexec: late });
}, 30_000);

describe('--measure', () => {
  const MATRIX = join(ROOT, 'matrices', 'quickstart-pair.yaml');

  const measure = (cwd: string) =>
    benchJson(OUTPUTS.doctor, ['doctor', '--measure', '--matrix', MATRIX, '--filter', 'vit_small b8'], { cwd });

  test('--measure compares with the past of the machine; no history counts it', async () => {
    const cwd = temporaryFolder();
    for (const known of [0, 1, 2]) {
      const { code, json } = await measure(cwd);
      expect([code, json.measured]).toMatchObject([0, { against: null, standing: null, known }]);
    }
    const again = await measure(cwd);
    expect(again.code).toBe(0);
    const same = { against: 'itself', known: 3, changePercent: 0, standing: 'as before' };
    expect(again.json.measured).toMatchObject(same);
    expect(again.json.checks.at(-1)).toMatchObject({ id: 'reference.speed', state: 'ok' });
    expect(await bench(['check'], { cwd })).toEqual(refusal('no sweep of a branch is stored'));

    // The earlier ones were faster.
    change(join(cwd, 'bench.sqlite'), 'UPDATE time_statistics SET median_ms = median_ms / 1.05');
    const { code, json } = await measure(cwd);
    const slower = { against: 'itself', known: 4, standing: 'slower', changePercent: expect.closeTo(5, 6) };
    expect([code, json.measured, json.measured?.cells?.length]).toMatchObject([1, slower, 1]);
    const text =
      /^0\.4\d+ ms, \+5\.0 % against 4 earlier sweeps of this machine: slower, beyond the variation of those sweeps$/;
    expect(json.checks.at(-1)).toMatchObject({ state: 'warning', evidence: expect.stringMatching(text) });
  });

  test('the reference of bench can be planned for every TensorRT, and its model has its inputs', async () => {
    const matrix = join(ROOT, 'matrices', 'reference.yaml');
    for (const version of ['8.6', '10.6', '11.0']) {
      const expected = { code: 0, stdout: expect.stringContaining('1 cell · 5 runs + 1 engine') };
      expect(await bench(['plan', matrix, '--tensorrt', version])).toMatchObject(expected);
    }
    const { inputs } = await jsonOf(OUTPUTS.inspect, ['model', 'inspect', 'matrices/reference.onnx']);
    expect(inputs).toMatchObject([{ name: 'x', shape: ['batch', 2048] }]);
  });
});

test.each([undefined, '0'])('with CUDA_VISIBLE_DEVICES=%s a GPU without a UUID is visible', async (visible) => {
  const report = join(temporaryFolder(), 'report.xml');
  writeFileSync(report, readFileSync(H200_REPORT, 'utf8').replace(/<uuid>[^<]*<\/uuid>/, '<uuid>N/A</uuid>'));
  const env = { ...stubSmi({ report }).env, ...(visible === undefined ? {} : { CUDA_VISIBLE_DEVICES: visible }) };
  expect(await gpusFacts(env, 10_000)).toMatchObject({ hidden: 0, gpus: [{ uuid: null, clockLock: null }] });
});
