import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';

import { describe, expect, test } from 'vitest';

import { bench, startBench, temporaryFolder, temporaryStore } from '../support/bench.ts';
import { jsonOf, OUTPUTS } from '../support/outputs.ts';
import { type SmiOnPath, type StubSmi, stubSmi } from '../support/nvidia-smi.ts';
import { isGone, untilGone, writtenPids } from '../support/processes.ts';
import { queryStore } from '../support/store-dump.ts';
import { STUB, stubMatrix } from '../support/stub.ts';

/** A sample counts when its second lies within the run: the stub of trtexec takes longer than that. */
const LONG_ENOUGH = { STUB_DELAY_MS: '1400' };

type Swept = { readonly db: string; readonly folder: string; readonly smi: SmiOnPath; readonly stderr: string };

/** One sweep of two cells, one run each, beside an nvidia-smi that behaves so. */
async function sweep(
  behaviour: StubSmi | SmiOnPath,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Swept> {
  const { folder, db } = temporaryStore();
  const smi = 'starts' in behaviour ? behaviour : stubSmi(behaviour);
  const all = ['run', stubMatrix(folder, ['repeats: 1']), '--trtexec', STUB, '--db', db, ...args];
  const { code, stderr } = await bench(all, { env: { ...smi.env, ...env } });
  // Runs beside another process are no result.
  const expected = 'apps' in behaviour ? 4 : 0;
  expect([code, code === expected ? '' : stderr]).toEqual([expected, '']);
  return { db, folder, smi, stderr };
}

const TELEMETRY = `
  SELECT role, samples > 0 AS sampled, sm_clock_mhz, power_w, power_limit_w, clock_reasons, pcie_generation, pcie_width,
    other_processes, host_load >= 0 AS loaded
  FROM runs LEFT JOIN run_telemetry USING (run_id) ORDER BY role, started_at`;

const WATCHED = {
  role: 'timed',
  sampled: 1,
  sm_clock_mhz: 1590,
  power_w: 412.5,
  power_limit_w: 700,
  clock_reasons: '{"swPowerCap":1,"hwSlowdown":0}',
  pcie_generation: null,
  pcie_width: 16,
  other_processes: '[]',
  loaded: 1,
};
const NOT_WATCHED = { ...Object.fromEntries(Object.keys(WATCHED).map((name) => [name, null])), role: 'timed' };
const NO_SAMPLES = { ...NOT_WATCHED, sampled: 0, clock_reasons: '{}', other_processes: '[]', loaded: 1 };

describe('a sweep', () => {
  test('has nvidia-smi beside its runs, whose lines lie in the folder of each', async () => {
    const { db, folder, smi, stderr } = await sweep({ apps: '4711, 1011, python train.py\n' }, [], LONG_ENOUGH);
    expect(stderr).not.toContain('note:');
    const others = '[{"pid":4711,"name":"python train.py","memoryMib":1011}]';
    expect(queryStore(db, TELEMETRY)).toEqual([
      { ...NOT_WATCHED, role: 'build' },
      { ...WATCHED, other_processes: others },
      { ...WATCHED, other_processes: others },
    ]);
    const uuid = '--id=GPU-00000000-0000-0000-0000-000000000000';
    const asked = `--query-compute-apps=pid,used_memory,process_name ${uuid} --format=csv,noheader,nounits`;
    expect(
      smi
        .starts()
        .map(({ line }) => line.replace(/=[a-z._,]{40,}/, '=…'))
        .toSorted(),
    ).toEqual([
      asked,
      asked,
      `--query-gpu=… --format=csv --loop=1 ${uuid}`,
      '-q -x',
      `pmon -s m -o DT -d 1 ${uuid.replace('--id=', '-i ')}`,
    ]);
    for (const { pid } of samplersOf(smi)) await untilGone(pid);

    const runs = queryStore<{ path: string; startedAt: string; wallS: number }>(
      db,
      `SELECT artefact_folder AS path, started_at AS startedAt, wall_s AS wallS FROM runs WHERE role = 'timed'`,
    );
    for (const { path, startedAt, wallS } of runs) {
      const file = join(folder, 'artefacts', path, 'telemetry.csv.zst');
      const [header, ...rows] = zstdDecompressSync(readFileSync(file)).toString().trim().split('\n');
      expect(header).toMatch(/^timestamp, index, uuid/);
      const times = rows.map((row) => Date.parse(`${row.slice(0, 23).replace(' ', 'T').replaceAll('/', '-')}Z`));
      // Nothing of what was before the run, nor of what came after.
      expect(Math.min(...times)).toBeGreaterThanOrEqual(Date.parse(startedAt) + 1000);
      expect(Math.max(...times)).toBeLessThanOrEqual(Date.parse(startedAt) + wallS * 1000 + 1);
    }
    expect(runs).toHaveLength(2);

    for (const [metric, value] of Object.entries({ temperature: 51, 'sm-clock': 1590, power: 412.5 })) {
      // They shared their GPU: their own numbers are there all the same.
      const { cells } = await jsonOf(OUTPUTS.trend, ['trend', '--metric', metric, '--db', db]);
      expect([metric, cells[0]?.points.map((point) => point.value)]).toEqual([metric, [value]]);
    }
    const again = join(folder, 'again.sqlite');
    expect((await bench(['import', join(folder, 'artefacts'), '--db', again])).code).toBe(0);
    const all = 'SELECT * FROM run_telemetry ORDER BY run_id';
    expect(queryStore(again, all)).toEqual(queryStore(db, all));
  });

  test('goes on where nvidia-smi finds no GPU, as on a Jetson, with one note and unknown fields', async () => {
    const behaviour = { fails: 'No devices were found' };
    const { db, smi, stderr } = await sweep(behaviour);
    expect(stderr.match(/note: /g)).toHaveLength(1);
    expect(stderr).toContain(`note: nvidia-smi gave no answer (${behaviour.fails})`);
    expect(smi.starts()).toHaveLength(1);
    expect(
      queryStore(db, 'SELECT DISTINCT gpu_uuid, driver, cuda, clock_policy, ecc, vbios FROM environments'),
    ).toEqual([{ gpu_uuid: null, driver: null, cuda: null, clock_policy: null, ecc: null, vbios: null }]);
    expect(queryStore(db, TELEMETRY).slice(1)).toEqual([NO_SAMPLES, NO_SAMPLES]);
  });

  test('goes on when nvidia-smi gives no samples, with one note', async () => {
    const report = temporaryFolder();
    writeFileSync(
      join(report, 'nvidia-smi'),
      `#!/bin/sh\ncase "$*" in "-q -x") cat "$REPORT" ;; *) echo "Unable to determine the device handle" ; exit 6 ;; esac\n`,
      { mode: 0o755 },
    );
    const { stub, env } = { stub: stubSmi(), env: { REPORT: '' } };
    const copy = join(report, 'report.xml');
    copyFileSync(join(import.meta.dirname, '..', 'fixtures', 'nvidia-smi', 'h200-580.xml'), copy);
    const { db, stderr } = await sweep({
      ...stub,
      env: { ...env, PATH: `${report}:${process.env['PATH']}`, REPORT: copy },
    });
    expect(stderr.match(/note: .*/g)).toEqual([
      'note: nvidia-smi gives no samples ("Unable to determine the device handle")',
    ]);
    expect(queryStore(db, TELEMETRY).slice(1)).toEqual([NO_SAMPLES, NO_SAMPLES]);
  });

  test.runIf(process.platform === 'linux')('knows the TensorRT library that trtexec really loads', async () => {
    const library = join(temporaryFolder(), 'libnvinfer.so.10.6.0');
    copyFileSync(someLibrary(), library);
    const { db } = await sweep({}, ['--no-telemetry'], { ...LONG_ENOUGH, LD_PRELOAD: library });
    expect(queryStore(db, 'SELECT DISTINCT tensorrt_library FROM environments')).toEqual([
      { tensorrt_library: '10.6.0' },
    ]);
  });

  test('with --no-telemetry asks for the machine and nothing else', async () => {
    const { db, smi } = await sweep({}, ['--no-telemetry']);
    expect(smi.starts().map(({ line }) => line)).toEqual(['-q -x']);
    expect(queryStore(db, TELEMETRY).slice(1)).toEqual([NOT_WATCHED, NOT_WATCHED]);
    expect(queryStore(db, 'SELECT DISTINCT driver FROM environments')).toEqual([{ driver: '580.159.04' }]);
  });

  test('of recordings asks nothing of this machine', async () => {
    const db = join(temporaryFolder(), 'bench.sqlite');
    const smi = stubSmi();
    const matrix = join(import.meta.dirname, '..', '..', 'matrices', 'quickstart-pair.yaml');
    const { code } = await bench(['run', matrix, '--repeats', '1', '--db', db], { env: smi.env });
    expect([code, smi.starts(), queryStore(db, 'SELECT * FROM run_telemetry')]).toEqual([0, [], []]);
  });
});

/** Those that print something each second, as long as bench listens. */
const samplersOf = (smi: ReturnType<typeof stubSmi>) => smi.starts().filter(({ line }) => /--loop|pmon/.test(line));

describe('nvidia-smi beside the runs', () => {
  /** Until the sampler has started beside a run that hangs. */
  async function hanging(args: readonly string[] = []) {
    const { folder, db } = temporaryStore();
    const smi = stubSmi();
    const pids = join(folder, 'pids.txt');
    const matrix = stubMatrix(folder, ['repeats: 1']);
    const child = startBench(['run', matrix, '--trtexec', STUB, '--db', db, ...args], {
      env: { ...smi.env, STUB_RULES: JSON.stringify([{ when: '--loadEngine', does: 'hangs' }]), STUB_PIDS: pids },
    });
    await writtenPids(pids);
    return { child, folder, db, smi, matrix };
  }

  test('ends when bench is interrupted', async () => {
    const { child, smi } = await hanging();
    expect(samplersOf(smi).map(({ pid }) => isGone(pid))).toEqual([false, false]);
    const ended = new Promise((resolve) => child.on('close', resolve));
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    for (const { pid } of samplersOf(smi)) await untilGone(pid);
  });

  test('ends by itself when bench was killed; --resume goes on without when told so', async () => {
    const { child, db, folder, smi } = await hanging();
    child.kill('SIGKILL');
    for (const { pid } of samplersOf(smi)) await untilGone(pid);
    expect((await bench(['run', '--resume', '--no-telemetry', '--db', db], { env: smi.env })).code).toBe(0);
    expect([samplersOf(smi).length, queryStore(db, TELEMETRY).slice(1)]).toEqual([2, [NOT_WATCHED, NOT_WATCHED]]);
    const sweepId = readdirSync(join(folder, 'artefacts')).find((name) => name !== '.gitignore') ?? '';
    expect(readdirSync(join(folder, 'artefacts', sweepId)).filter((name) => /attempt|tmp/.test(name))).toEqual([]);
  });
});

/** A library that any process may load. */
const someLibrary = (): string => /\/\S*\/libm[.-]\S*so\S*/.exec(readFileSync('/proc/self/maps', 'utf8'))?.[0] ?? '';

test('the experiment telemetry measures with nvidia-smi and without, in turns', async () => {
  const { folder, db } = temporaryStore();
  const args = ['ab', stubMatrix(folder), '--experiment', 'telemetry', '--filter', 'batch=8', '--repeats', '2'];
  const { stdout } = await bench([...args, '--trtexec', STUB, '--db', db], {
    env: { ...stubSmi({}).env, ...LONG_ENOUGH },
  });
  expect(stdout).toContain('telemetry: B with BENCH_TELEMETRY=off, A unchanged');
  const rows = queryStore(
    db,
    `SELECT axis_flags LIKE '%BENCH_TELEMETRY%' AS b, samples > 0 AS sampled, count(*) AS runs
     FROM runs JOIN cells USING (cell_key) JOIN run_telemetry USING (run_id) WHERE role = 'timed' GROUP BY b, sampled`,
  );
  expect(rows).toEqual([
    { b: 0, sampled: 1, runs: 2 },
    { b: 1, sampled: 0, runs: 2 },
  ]);
}, 60_000);
