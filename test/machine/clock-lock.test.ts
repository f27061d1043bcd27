import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { bench, benchProcess, finished, startBench, refusal } from '../support/bench.ts';
import { FAKE_GPU, FakeGpu, type Misbehaviour } from '../support/fake-gpu.ts';
import { writtenPids } from '../support/processes.ts';
import { queryStore } from '../support/store-dump.ts';
import { STUB, stubMatrix } from '../support/stub.ts';
import { identityOf } from '../../src/process/process-identity.ts';

const RELEASED = { gpu: null, memory: null };

class Machine {
  readonly gpu = new FakeGpu();
  readonly folder = this.gpu.folder;
  readonly db = join(this.folder, 'bench.sqlite');
  readonly matrix: string;

  constructor(more: readonly string[] = []) {
    this.matrix = stubMatrix(this.folder, ['repeats: 1', ...more]);
  }

  args(...more: string[]): string[] {
    return ['run', this.matrix, '--trtexec', STUB, '--db', this.db, '--seed', '1', '--no-telemetry', ...more];
  }

  run(more: readonly string[], misbehaviour: Misbehaviour = {}, env: Record<string, string> = {}) {
    return bench(this.args(...more), { env: { ...this.gpu.env(misbehaviour), ...env } });
  }

  /** Started, with the clocks locked and the first run hanging. */
  async startHanging(does: 'hangs' | 'stubborn', ...more: string[]) {
    const pids = join(this.folder, 'pids');
    const child = startBench(this.args('--lock-clocks', '1590', ...more), {
      env: { ...this.gpu.env(), STUB_PIDS: pids, STUB_RULES: JSON.stringify([{ when: '--loadEngine', does }]) },
    });
    const ended = finished(child);
    const [stub] = await writtenPids(pids);
    return { child, ended, stub };
  }

  /** The files of locks stay, and are empty. */
  clockRecords(): string[] {
    const names = readdirSync(this.gpu.lockFolder).filter((name) => /^clocks-.*\.json$/.test(name));
    return names.filter((name) => statSync(join(this.gpu.lockFolder, name)).size > 0);
  }

  policies(): unknown[] {
    return queryStore<{ policy: unknown }>(
      this.db,
      `SELECT DISTINCT clock_policy AS policy FROM environments JOIN runs USING (environment_id)`,
    ).map(({ policy }) => policy);
  }
}

describe('bench run --lock-clocks', () => {
  test('locks before the first process, stores the policy, releases at the end', async () => {
    const machine = new Machine();
    const { code, stderr } = await machine.run(['--lock-clocks', '1590']);
    expect([code, machine.gpu.changes]).toEqual([0, ['-lgc 1590,1590', '-rgc']]);
    expect([machine.gpu.locks, machine.policies()]).toEqual([RELEASED, ['locked 1590 MHz']]);
    expect(stderr).toContain(`clocks of NVIDIA H200 (${FAKE_GPU}) locked 1590 MHz\n`);
    expect(stderr).toContain(`clocks of NVIDIA H200 (${FAKE_GPU}) released\n`);
    expect([machine.clockRecords(), statSync(machine.gpu.lockFolder).mode & 0o7777]).toEqual([[], 0o1777]);
  });

  test.each([
    ['base', 'tdp,tdp', 'locked base'],
    ['max', '1980,1980', 'locked 1980 MHz'],
  ])('%s', async (request, bounds, policy) => {
    const machine = new Machine();
    const { code } = await machine.run(['--lock-clocks', request]);
    expect([code, machine.gpu.changes[0], machine.policies()]).toEqual([0, `-lgc ${bounds}`, [policy]]);
  });

  test('lockClocks of the matrix does the same, and the flag wins', async () => {
    const machine = new Machine(['lockClocks: 1590']);
    expect((await machine.run([])).code).toBe(0);
    expect([machine.policies(), (await machine.run(['--lock-clocks', 'max'])).code]).toEqual([['locked 1590 MHz'], 0]);
    expect([machine.policies(), machine.gpu.locks]).toEqual([['locked 1590 MHz', 'locked 1980 MHz'], RELEASED]);
  });

  test('nothing is changed unless it is asked for', async () => {
    const machine = new Machine();
    expect([(await machine.run([])).code, machine.gpu.changes, machine.clockRecords()]).toEqual([0, [], []]);
  });

  test.each<[number, string, string, Misbehaviour]>([
    [3, '1590', 'no permission to lock the clocks of NVIDIA H200', { deny: true }],
    [2, '1600', 'the nearest are 1605 and 1590 MHz', {}],
    [3, '1590', 'Setting locked GPU clocks is not supported', { unsupported: true }],
    [3, '1590', 'but they are at 1980 MHz', { ignoresLock: true }],
    [3, '1590', 'persistence mode is off; switch it on with `sudo nvidia-smi', { persistence: 'Disabled' }],
  ])('exit code %i for %s: %s', async (code, request, message, misbehaviour) => {
    const machine = new Machine();
    const refused = await machine.run(['--lock-clocks', request], misbehaviour);
    const said = refused.stderr.split('\n').filter((line) => line.startsWith('bench: '));
    expect([refused.code, said, refused.stdout]).toEqual([code, [expect.stringContaining(message)], '']);
    expect([queryStore(machine.db, 'SELECT * FROM sweeps'), machine.gpu.locks]).toEqual([[], RELEASED]);
    expect(existsSync(machine.gpu.lockFolder) ? machine.clockRecords() : []).toEqual([]);
  });

  test('without nvidia-smi, and for something that is no clock', async () => {
    const machine = new Machine();
    const env = { PATH: dirname(process.execPath), BENCH_LOCK_DIR: machine.gpu.lockFolder };
    const text = 'clocks cannot be locked: nvidia-smi gave no answer (not found on PATH)';
    const none = await bench(machine.args('--lock-clocks', 'max'), { env });
    expect(none).toMatchObject({ code: 3, stderr: expect.stringContaining(text) });
    const wrong = await machine.run(['--lock-clocks', 'fast']);
    expect(wrong).toEqual(refusal('must be base, max or a frequency in MHz'));
  });

  test('recordings have no clocks: the flag is refused, the matrix key is not followed', async () => {
    const gpu = new FakeGpu();
    const args = ['run', 'matrices/quickstart-pair.yaml', '--db', join(gpu.folder, 'a.sqlite')];
    const stderr = expect.stringContaining('--lock-clocks and recordings cannot be used together');
    expect(await bench([...args, '--lock-clocks', 'max'], { env: gpu.env() })).toMatchObject({ code: 2, stderr });
    expect(gpu.changes).toEqual([]);
  });

  test('a run that fails, with its process killed by signal 9, leaves nothing locked', async () => {
    const machine = new Machine();
    const { child, ended, stub } = await machine.startHanging('hangs', '--filter', 'batch=1');
    process.kill(stub, 'SIGKILL');
    const { code, stderr } = await ended;
    expect([code, child.killed, machine.gpu.locks]).toEqual([4, false, RELEASED]);
    expect(machine.gpu.changes).toEqual(['-lgc 1590,1590', '-rgc']);
    expect(stderr).toContain('released\n');
    expect(queryStore(machine.db, `SELECT reason FROM runs WHERE role = 'timed'`)).toEqual([{ reason: 'killed' }]);
  });

  test.each(['SIGINT', 'SIGHUP', 'SIGTERM'] as const)('%s', async (signal) => {
    const machine = new Machine();
    const { child, ended } = await machine.startHanging('hangs');
    expect(machine.gpu.locks).toEqual({ gpu: '1590', memory: null });
    child.kill(signal);
    const { code, stderr } = await ended;
    expect([code, machine.gpu.locks]).toEqual([130, RELEASED]);
    expect([stderr, machine.clockRecords()]).toEqual([expect.stringContaining('released\n'), []]);
  });

  test('Ctrl-C again and again: it ends at once, with the clocks released', async () => {
    const machine = new Machine();
    const { child, ended, stub } = await machine.startHanging('stubborn');
    const again = setInterval(() => child.kill('SIGINT'), 100);
    const { code } = await ended;
    clearInterval(again);
    process.kill(stub, 'SIGKILL');
    expect([code, machine.gpu.locks, machine.clockRecords()]).toEqual([130, RELEASED, []]);
  });

  test('a release that fails is said loudly, and done by the next bench', async () => {
    const machine = new Machine();
    // Its end releases them: it must be over when the next one looks.
    const { code, stderr } = await benchProcess(machine.args('--lock-clocks', '1590'), {
      env: machine.gpu.env({ failsReset: true }),
    });
    expect(code).toBe(0);
    expect(stderr).toContain(
      `ARE STILL LOCKED, nvidia-smi: The current user does not have permission to change clocks for GPU 00000000:00:06.0.. Type: sudo nvidia-smi -i ${FAKE_GPU} -rgc`,
    );
    expect(machine.gpu.locks.gpu).toBe('1590');
    const next = await bench(['ls', 'sweeps', '--db', machine.db], { env: machine.gpu.env() });
    expect(next.stderr).toContain('released the clocks of NVIDIA H200');
    expect(machine.gpu.locks).toEqual(RELEASED);
  });
});

describe('killed by signal 9', () => {
  test('the next bench, whichever it is, releases the clocks and says so, once', async () => {
    const machine = new Machine();
    const { child, ended, stub } = await machine.startHanging('hangs');
    child.kill('SIGKILL');
    await ended;
    process.kill(stub, 'SIGKILL');
    expect(machine.gpu.locks).toEqual({ gpu: '1590', memory: null });

    const env = machine.gpu.env();
    expect((await bench(['ls', 'sweeps', '--db', machine.db], { env })).stderr).toBe(
      `bench: released the clocks of NVIDIA H200 (${FAKE_GPU}): an earlier bench (process ${child.pid}) had locked them at 1590 MHz and was killed\n`,
    );
    expect(machine.gpu.locks).toEqual(RELEASED);
    expect([machine.gpu.changes.slice(1), machine.clockRecords()]).toEqual([['-rgc'], []]);

    const again = await bench(['ls', 'sweeps', '--db', machine.db], { env });
    expect([again.stderr, machine.gpu.changes.length]).toEqual(['', 2]);
  });

  test('--resume locks them again as the sweep had them', async () => {
    const machine = new Machine();
    const { child, ended } = await machine.startHanging('hangs');
    child.kill('SIGKILL');
    await ended;
    const resume = ['run', '--resume', '--db', machine.db];
    const other = await bench([...resume, '--lock-clocks', 'max'], { env: machine.gpu.env() });
    const expected = [2, expect.stringContaining('--lock-clocks cannot be used with --resume')];
    expect([[other.code, other.stderr], (await bench(resume, { env: machine.gpu.env() })).code]).toEqual([expected, 0]);
    expect(machine.gpu.changes).toEqual(['-lgc 1590,1590', '-rgc', '-lgc 1590,1590', '-rgc']);
    expect(machine.policies()).toEqual(['locked 1590 MHz']);
  });
});

describe('other benches', () => {
  test('while one has the clocks, another neither locks nor releases them', async () => {
    const machine = new Machine();
    const { child, ended } = await machine.startHanging('hangs');
    const other = await bench(
      ['run', machine.matrix, '--trtexec', STUB, '--lock-clocks', 'max', '--db', `${machine.db}2`],
      { env: machine.gpu.env() },
    );
    const stderr = expect.stringContaining(`are locked 1590 MHz by another bench (process ${child.pid} on `);
    expect([other, machine.gpu.locks.gpu]).toMatchObject([{ code: 3, stderr }, '1590']);
    child.kill('SIGINT');
    await ended;
    expect(machine.gpu.locks).toEqual(RELEASED);
  });

  test.each([
    ['of another machine', { host: 'elsewhere', bootId: 'another' }, 'cannot be seen from here'],
    ['of another container', { pidNamespace: 'pid:[1]' }, 'cannot be seen from here'],
  ])('a record %s is left alone', async (_, change, message) => {
    const machine = new Machine();
    const gone = Number(execFileSync(process.execPath, ['-p', 'process.pid'], { encoding: 'utf8' }));
    const record = {
      gpuUuid: FAKE_GPU,
      gpuName: 'NVIDIA H200',
      policy: 'locked 1590 MHz',
      lockedAt: '2026-11-21T02:00:00.000Z',
      host: 'here',
      pidNamespace: null,
      ...identityOf(process.pid),
      pid: gone,
      ...change,
    };
    mkdirSync(machine.gpu.lockFolder);
    const path = join(machine.gpu.lockFolder, `clocks-${FAKE_GPU}.json`);
    writeFileSync(path, JSON.stringify(record));
    const { code, stderr } = await machine.run(['--lock-clocks', '1590']);
    expect([code, stderr]).toEqual([3, expect.stringContaining(message)]);
    expect([machine.gpu.changes, existsSync(path)]).toEqual([[], true]);
  });

  test.each([
    ['', 'empty'],
    ['{"pid": 1, "gpuUuid": "--help", "gpuName": "x"}', 'of no GPU'],
  ])('%j is no record', async (text) => {
    const machine = new Machine();
    mkdirSync(machine.gpu.lockFolder);
    writeFileSync(join(machine.gpu.lockFolder, `clocks-${FAKE_GPU}.json`), text);
    const { code, stderr } = await machine.run(['--lock-clocks', '1590']);
    expect([code, stderr, machine.clockRecords()]).toEqual([0, expect.not.stringContaining('earlier bench'), []]);
  });
});
