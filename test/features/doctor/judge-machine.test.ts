import { readFileSync } from 'node:fs';

import { describe, expect, test } from 'vitest';

import { judgeMachine, lackingOf } from '../../../src/features/doctor/judge-machine.ts';
import type { DoctorCheck } from '../../../src/features/doctor/output.ts';
import type { GpuFacts, MachineFacts } from '../../../src/features/doctor/gather.ts';
import { parseGpuReport } from '../../../src/tools/nvidia-smi/gpu-report.ts';
import { H200_REPORT } from '../../support/nvidia-smi.ts';

const [recorded] = parseGpuReport(readFileSync(H200_REPORT, 'utf8')).gpus;
if (recorded === undefined) throw new Error(H200_REPORT);
const UUID = recorded.uuid;

const H200: GpuFacts = {
  ...recorded,
  computeMode: 'Exclusive_Process',
  numaNode: 0,
  clockLock: 'locked 1590 MHz by a bench that runs (process 12)',
};

const GIB = 2 ** 30;
const WRITABLE = { isThere: true, isWritable: true, freeBytes: 100 * GIB, networkFileSystem: null };
const FOLDER = { holds: 'store', path: '/data', ...WRITABLE };

const READY: MachineFacts = {
  isReplay: false,
  trtexec: {
    kind: 'found',
    path: '/opt/trtexec',
    help: { kind: 'version', version: { major: 10, minor: 6, patch: 0 } },
    library: { kind: 'found', path: '/opt/lib/libnvinfer.so.10.6.0', version: '10.6.0' },
  },
  builtForCuda: 12,
  gpus: { kind: 'report', driver: '580.159.04', cuda: '13.0', gpus: [H200], hidden: 0 },
  folders: [FOLDER],
  store: {
    kind: 'opened',
    path: '/data/bench.sqlite',
    bytes: 5 * 2 ** 20,
    sweeps: 7,
    quickCheck: 'ok',
    isNewer: false,
  },
  host: {
    node: '24.21.0',
    platform: 'linux',
    cpuCount: 16,
    loadPerCpu: 0.03,
    freeMemoryBytes: 100 * GIB,
    memoryBytes: 128 * GIB,
    cpuGovernor: 'performance',
    numaNodes: 1,
    isJetson: false,
  },
  modelBytes: null,
  python: {
    interpreter: 'python3',
    isNamed: false,
    answer: answered(
      '{"python": "3.11.7", "packages": {"nvidia-modelopt": "0.47.0", "onnx": "1.21.0", "onnxruntime": "1.24.4"}}',
    ),
  },
  nsys: answered('NVIDIA Nsight Systems version 2024.6.1\n'),
  slurm: answered('slurm 23.11.4\n'),
  git: answered('git version 2.39.5\n'),
  repository: { commit: '1a2b3c4d5e6f', branch: 'main', dirty: false },
};

/** A GPU that is another in something, on a machine that is ready. */
function withGpu(change: Partial<GpuFacts>, more: Partial<MachineFacts> = {}): MachineFacts {
  const gpus = [{ ...H200, ...change }];
  return { ...READY, gpus: { kind: 'report', driver: '580.159.04', cuda: '13.0', gpus, hidden: 0 }, ...more };
}

/** The checks that are not ok: `id state, id state`. */
function notOk(facts: MachineFacts): string {
  return judgeMachine(facts)
    .filter(({ state }) => state !== 'ok')
    .map(({ id, state }) => `${id} ${state}`)
    .join(', ');
}

/** What these say, and how to mend it. */
function wordsOf(facts: MachineFacts): string {
  const found = judgeMachine(facts).filter(({ state }) => state !== 'ok');
  return found.map(({ evidence, mend }) => `${evidence}\n${mend}`).join('\n');
}

const only = (facts: MachineFacts, id: string): DoctorCheck | undefined =>
  judgeMachine(facts).find((check) => check.id === id);

/** What is not ok, in words, and how much of it keeps this machine from measuring. */
const judged = (facts: MachineFacts) => [notOk(facts), wordsOf(facts), lackingOf(judgeMachine(facts)).length];
/** Only a failed check keeps it from that. */
const found = (checks: string, said: string): unknown[] => {
  return [checks, expect.stringContaining(said), checks.endsWith('failed') ? 1 : 0];
};

test('a machine that is ready has nothing to mend, and ids of its own for each check', () => {
  const checks = judgeMachine(READY);
  expect([notOk(READY), checks.map(({ mend }) => mend).filter((mend) => mend !== null)]).toEqual(['', []]);
  expect(new Set(checks.map(({ id }) => id)).size).toBe(checks.length);
  expect(checks.length).toBeGreaterThan(20);
  expect(lackingOf(checks)).toEqual([]);
});

describe('of a GPU', () => {
  const other = (name: string, memoryMib: number | null) => ({ processes: [{ pid: 7, name, memoryMib }] });
  const pcie = (generation: number, width: number) => ({ pcie: { generation, width, maxGeneration: 5, maxWidth: 16 } });
  const busyLink = { ...pcie(1, 16), ...other('x', 1), gpuUtilisationPercent: 99 };
  const clocks = { ...H200.clocks, smMhz: null, maxSmMhz: null };
  const untold = { computeMode: null, persistence: null, clocks };

  test.each<[Partial<GpuFacts>, string, string]>([
    [{ ...other('python3', 400), gpuUtilisationPercent: 90 }, 'gpu0.idle warning', 'python3 (7, 400 MiB)'],
    [other('Xorg', null), 'gpu0.idle advice', 'Xorg (7)'],
    [{ gpuUtilisationPercent: 50 }, 'gpu0.idle warning', 'is not visible here'],
    [{ memoryUsedMib: 40_000 }, 'gpu0.idle warning', 'is not visible here'],
    [{ computeMode: 'Default' }, 'gpu0.computeMode advice', `-i ${UUID} -c EXCLUSIVE_PROCESS`],
    [{ computeMode: 'Prohibited' }, 'gpu0.computeMode failed', `-i ${UUID} -c DEFAULT`],
    [{ persistence: 'off' }, 'gpu0.persistence warning', `sudo nvidia-smi -i ${UUID} -pm 1`],
    [{ clockLock: null }, 'gpu0.clocks advice', '--lock-clocks base'],
    [{ temperatureC: 88 }, 'gpu0.temperature warning', '88 °C, slows down at 90 °C'],
    [{ power: { limitW: 500, defaultLimitW: 700 } }, 'gpu0.power advice', `sudo nvidia-smi -i ${UUID} -pl 700`],
    [{ mig: 'on' }, 'gpu0.mig warning', '-mig 0'],
    [pcie(1, 16), 'gpu0.pcie advice', 'generation 1 x16 of 5 x16; an idle link slows down to save power'],
    [pcie(5, 8), 'gpu0.pcie warning', 'generation 5 x8 of 5 x16'],
    [busyLink, 'gpu0.idle warning, gpu0.pcie warning', 'generation 1 x16 of 5 x16'],
    [{ driverModel: 'WDDM' }, 'gpu0.driverModel warning', 'WDDM'],
    [{ driverModel: 'TCC' }, '', ''],
    [{ ...untold, temperatureC: null, ecc: null, mig: null }, '', ''],
  ])('%j', (change, expected, said) => expect(judged(withGpu(change))).toEqual(found(expected, said)));

  test('persistence mode is nothing that Windows has', () => {
    expect(notOk(withGpu({ persistence: 'off' }, { host: { ...READY.host, platform: 'win32' } }))).toBe('');
  });
});

describe('of trtexec, its library and the driver', () => {
  const trtexec = (change: object): Partial<MachineFacts> =>
    READY.trtexec.kind === 'found' ? { trtexec: { ...READY.trtexec, ...change } } : {};
  const report = { kind: 'report', driver: '570.86.10', cuda: '12.8', gpus: [H200], hidden: 0 } as const;

  const missing = { trtexec: { kind: 'missing' as const, problem: 'looked everywhere' } };
  const failing = trtexec({ help: { kind: 'failed', problem: 'is it trtexec?' } });
  const libraryBeside = trtexec({ library: { kind: 'missing', name: 'libnvinfer.so.10', nearby: '/opt/lib' } });
  const newer = trtexec({ library: { kind: 'found', path: '/lib/libnvinfer.so.10.9.0', version: '10.9.0' } });
  const hanging = { gpus: { kind: 'none' as const, answer: { kind: 'silent' as const, afterS: 10 } } };

  test.each<[string, Partial<MachineFacts>, string, string]>([
    ['not found', missing, 'trtexec.found failed', 'export TRTEXEC=/path/to/trtexec'],
    ['does not run', failing, 'trtexec.runs failed', '/opt/trtexec --help'],
    ['library beside it', libraryBeside, 'trtexec.library failed', 'export LD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH'],
    ['library of another version', newer, 'trtexec.library warning', '(10.9.0), but /opt/trtexec is version 10.6.0'],
    ['driver too old', { builtForCuda: 13, gpus: report }, 'gpu.driver failed', 'CUDA 13, which needs 580 or newer'],
    ['GPUs hidden', { gpus: { ...report, gpus: [], hidden: 2 } }, 'gpu.visible failed', 'hides all 2'],
    ['nvidia-smi hangs', hanging, 'gpu.visible failed', 'nvidia-smi: gave no answer in 10 s'],
  ])('%s', (_, change, expected, said) => expect(judged({ ...READY, ...change })).toEqual(found(expected, said)));

  test.each([
    [11, '450.80.02', 'ok'],
    [12, '525.60.13', 'ok'],
    [12, '520.61.05', 'failed'],
    [13, '580.65.06', 'ok'],
    [99, '580.65.06', 'ok'],
    [null, '400.1', 'ok'],
  ] as const)('CUDA %s under driver %s: %s', (builtForCuda, driver, state) => {
    const facts = { ...READY, builtForCuda };
    const gpus = { kind: 'report' as const, driver, cuda: null, gpus: [H200], hidden: 0 };
    expect(only({ ...facts, gpus }, 'gpu.driver')?.state).toBe(state);
  });

  test('neither is needed where recordings answer, nor nvidia-smi on a Jetson', () => {
    const nothing: MachineFacts = { ...READY, ...missing, gpus: { kind: 'none', answer: { kind: 'missing' } } };
    expect(lackingOf(judgeMachine(nothing)).map(({ id }) => id)).toEqual(['trtexec.found', 'gpu.visible']);
    expect(lackingOf(judgeMachine({ ...nothing, isReplay: true }))).toEqual([]);
    const host = { ...READY.host, isJetson: true };
    expect(lackingOf(judgeMachine({ ...READY, gpus: nothing.gpus, host }))).toEqual([]);
  });
});

describe('of host, disk and store', () => {
  const host = (change: Partial<MachineFacts['host']>) => ({ host: { ...READY.host, ...change } });
  const folder = (change: Partial<typeof FOLDER>) => ({ folders: [{ ...FOLDER, ...change }] });
  const shared = { freeMemoryBytes: 3 * GIB, memoryBytes: 8 * GIB };
  const refused = { kind: 'refused' as const, path: 'a.sqlite', problem: 'is not a SQLite file' };

  test.each<[Partial<MachineFacts>, string, string]>([
    [host({ loadPerCpu: 0.75 }), 'host.load warning', 'load of 0.75 on each of 16 CPUs'],
    [host(shared), 'host.memory warning', '3.00 GiB of 8.00 GiB free'],
    [host(shared), 'host.memory warning', 'a build of a model of 1 GiB needs about 4.00 GiB'],
    [{ ...host(shared), modelBytes: GIB / 2 }, '', ''],
    [{ modelBytes: 50 * GIB }, 'host.memory warning', 'the largest model of the matrix needs about 102 GiB'],
    [host({ cpuGovernor: 'powersave' }), 'host.governor advice', 'cpupower frequency-set --governor performance'],
    [host({ numaNodes: 2 }), 'host.numa advice', 'bench run MATRIX --numa auto'],
    [folder({ freeBytes: 5 * GIB }), 'store.folder0 warning', '/data, 5.00 GiB free'],
    [folder({ freeBytes: GIB / 2 }), 'store.folder0 failed', '/data, 512 MiB free'],
    [folder({ isWritable: false }), 'store.folder0 failed', '/data is not writable'],
    [folder({ isThere: false, isWritable: false }), 'store.folder0 failed', 'mkdir -p /data'],
    [{ folders: [{ ...FOLDER, networkFileSystem: 'NFS' }] }, 'store.folder0.network warning', '/data is on NFS'],
    [{ store: refused }, 'store.database failed', 'a.sqlite is not a SQLite file'],
  ])('%j', (change, expected, said) => expect(judged({ ...READY, ...change })).toEqual(found(expected, said)));

  test.each([
    [{ quickCheck: 'wrong # of entries in index' }, 'failed'],
    [{ isNewer: true }, 'failed'],
  ])('a database with %j: %s', (change, state) => {
    if (READY.store.kind !== 'opened') throw new Error('the store of a ready machine is opened');
    expect(only({ ...READY, store: { ...READY.store, ...change } }, 'store.database')?.state).toBe(state);
  });
});

describe('of tools that only some commands need', () => {
  test('none of them is essential', () => {
    const missing = { kind: 'missing' as const };
    const python = { ...READY.python, answer: missing };
    const facts = { ...READY, nsys: missing, slurm: missing, git: missing, python };
    expect(notOk(facts)).toBe('tools.modelopt absent, tools.nsys absent, tools.slurm absent, tools.git absent');
    expect(lackingOf(judgeMachine(facts))).toEqual([]);
  });

  test('a Python without ModelOpt: what it has, and how to install the rest', () => {
    const text = '{"python": "3.11.7", "packages": {"nvidia-modelopt": null, "onnx": "1.21.0"}}';
    expect(only({ ...READY, python: { ...READY.python, answer: answered(text) } }, 'tools.modelopt')).toMatchObject({
      state: 'absent',
      evidence: 'python3 3.11.7: onnx 1.21.0, no nvidia-modelopt',
      mend: 'python3 -m pip install "nvidia-modelopt[onnx]==0.47.0"   # only to make FP8, INT8 and INT4 models',
    });
  });

  const refused = { ...answered(''), kind: 'refused' as const, problem: 'SyntaxError', exitCode: 1, signal: null };

  test.each([
    ['refused', refused, 'warning', 'SyntaxError'],
    ['no JSON', answered('hello\n'), 'warning', 'answers: hello'],
    ['named and missing', { kind: 'missing' as const }, 'warning', '($BENCH_PYTHON): not found'],
  ])('an interpreter that is none: %s', (_, answer, state, said) => {
    const check = only({ ...READY, python: { interpreter: '/x/python', isNamed: true, answer } }, 'tools.modelopt');
    expect([check?.state, check?.evidence]).toEqual([state, expect.stringContaining(said)]);
  });

  test('a folder without a repository is told before results have no commit', () => {
    expect(notOk({ ...READY, repository: { commit: null, branch: null, dirty: null } })).toBe(
      'tools.repository advice',
    );
  });
});

function answered(text: string) {
  return { kind: 'answered' as const, text, stderr: '' };
}
