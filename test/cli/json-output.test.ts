import { homedir, hostname } from 'node:os';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';

import { bench, ROOT, sharedFolder } from '../support/bench.ts';
import { stubSmi } from '../support/nvidia-smi.ts';
import { OUTPUTS } from '../support/outputs.ts';
import { FIXTURES } from '../support/recordings.ts';
import { queryStore, firstId } from '../support/store-dump.ts';
import { STUB, stubMatrix } from '../support/stub.ts';

const PAIR = join(ROOT, 'matrices', 'quickstart-pair.yaml');
const OPT32 = join(ROOT, 'matrices', 'quickstart-pair-opt32.yaml');
const NIGHT = join(ROOT, 'matrices', 'quickstart.yaml');

describe('every --json is one object as its schema says, strictly', () => {
  let db: string;
  let profiledRun: string;
  let cellKey: string;

  async function json(args: readonly string[]): Promise<unknown> {
    const { stdout, stderr } = await bench([...args, '--json']);
    expect(stderr.split('\n').filter((line) => line.startsWith('bench: '))).toEqual([]);
    return JSON.parse(stdout);
  }

  beforeAll(async () => {
    db = join(sharedFolder(), 'bench.sqlite');
    const profiled = ['--filter', 'batch=8 & cudaGraph=on', '--profile'];
    for (const args of [[NIGHT, ...profiled], [PAIR], [OPT32]]) {
      const { code, stderr } = await bench(['run', ...args, '--db', db]);
      if (code !== 0) throw new Error(stderr);
    }
    [profiledRun = ''] = queryStore<{ id: string }>(db, `SELECT run_id AS id FROM runs WHERE role = 'profile'`).map(
      ({ id }) => id,
    );
    [cellKey = ''] = queryStore<{ key: string }>(db, 'SELECT cell_key AS key FROM cells').map(({ key }) => key);
  }, 60_000);

  test.each([
    ['compare', (): string[] => ['compare', 'latest~1', 'latest']],
    ['compare', () => ['compare', 'latest~1', 'latest', '--metric', 'engineMib']],
    ['trend', () => ['trend']],
    ['trend', () => ['trend', '--together', '--by', 'day', '--metric', 'p99Ms']],
    ['sweeps', () => ['ls', 'sweeps']],
    ['cells', () => ['ls', 'cells', '--filter', 'batch=8']],
    ['baselines', () => ['baseline', 'set', 'v1', '--force']],
    ['baselines', () => ['ls', 'baselines']],
    ['baselines', () => ['baseline', 'rm', 'v1']],
    ['engines', () => ['ls', 'engines']],
    ['engines', () => ['engines', 'verify']],
    ['engines-gc', () => ['engines', 'gc', '--max-size', '1', '--dry-run']],
    ['show-cell', () => ['show', cellKey]],
    ['show-run', () => ['show', profiledRun]],
    ['layers', () => ['layers', profiledRun]],
    ['layers', () => ['layers', profiledRun, '--group-by', 'block', '--select', 'MatMul']],
    ['layers-diff', () => ['layers', 'model=vit_small & batch=8', '--diff', 'precision=fp16', 'precision=fp8']],
    ['explain', () => ['show', profiledRun, '--next']],
    ['attach', () => ['show', profiledRun, '--attach', join(ROOT, 'package.json')]],
    ['show-run', () => ['show', profiledRun]],
    ['profile', () => ['profile', cellKey, '--nsys', '--dry-run']],
    ['layers', () => ['layers', profiledRun, '--select', 'Softmax', '--agg']],
    ['repro', () => ['repro', profiledRun]],
    ['export', () => ['export', profiledRun, '--output', join(sharedFolder(), 'a.json')]],
    ['run', () => ['show', 'latest']],
    ['run', () => ['run', NIGHT, '--filter', 'batch=1', '--replay', 'night2']],
    ['import', () => ['import', join(FIXTURES, 'formats')]],
    ['db-info', () => ['db', 'info']],
    ['db-verify', () => ['db', 'verify']],
    ['db-backup', () => ['db', 'backup']],
    ['db-prune', () => ['db', 'prune', '--keep-sweeps', '1', '--dry-run']],
  ] as const)('bench schema %s: %#', async (name, args) => {
    expect(OUTPUTS[name].safeParse(await json([...args(), '--db', db])).error?.issues ?? []).toEqual([]);
  });

  test.each([
    ['parse', ['parse', FIXTURES]],
    ['plan', ['plan', NIGHT]],
    ['plan', ['run', NIGHT, '--dry-run']],
  ] as const)('bench schema %s: %j', async (name, args) => {
    expect(OUTPUTS[name].safeParse(await json(args)).error?.issues ?? []).toEqual([]);
  });

  test('bench schema db-merge', async () => {
    const into = join(sharedFolder(), 'bench.sqlite');
    for (const runs of [true, false]) {
      const output = OUTPUTS['db-merge'].parse(await json(['db', 'merge', db, '--db', into]));
      expect(output.stores[0]?.added.runs !== 0).toBe(runs);
    }
  });

  test('a sweep in which everything failed', async () => {
    const output = await json(['import', join(FIXTURES, 'failures'), '--sweep', 'bad', '--db', db]);
    expect(OUTPUTS.import.safeParse(output).error?.issues ?? []).toEqual([]);
    const failed = queryStore<{ id: string }>(db, `SELECT run_id AS id FROM runs WHERE outcome <> 'measured'`);
    expect(failed.length).toBeGreaterThan(10);
    for (const { id } of failed.slice(0, 3)) {
      expect(OUTPUTS['show-run'].safeParse(await json(['show', id, '--db', db])).error?.issues ?? []).toEqual([]);
    }
  }, 30_000);

  test('bench schema prints a JSON Schema of each that a command declares', async () => {
    const names = Object.keys(OUTPUTS);
    for (const name of names) {
      const { code, stdout } = await bench(['schema', name]);
      expect([code, JSON.parse(stdout).$schema]).toEqual([0, 'https://json-schema.org/draft/2020-12/schema']);
    }
    const { code, stderr } = await bench(['schema', 'compar']);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('did you mean "compare"?') });
    expect((/there are matrix, (.*)\)/.exec(stderr)?.[1] ?? '').split(', ').toSorted()).toEqual(names.toSorted());
  });
});

const UUID = 'GPU-00000000-0000-0000-0000-000000000000';

describe('--redact', () => {
  let db: string;
  let runId: string;

  beforeAll(async () => {
    const folder = sharedFolder();
    db = join(folder, 'bench.sqlite');
    const matrix = stubMatrix(folder, ['repeats: 1']);
    await bench(['run', matrix, '--trtexec', STUB, '--db', db], { env: stubSmi({}, sharedFolder()).env });
    runId = firstId(db, `SELECT run_id AS id FROM runs WHERE role = 'timed'`);
  });

  function hostIs(name: string): void {
    const store = new Database(db);
    store.prepare('UPDATE environments SET host = ?').run(name);
    store.prepare('UPDATE sweeps SET host = ?').run(name);
    store.close();
  }

  test.each(['gpu-node-07', '.*', 'timed', 'x"y\\z'])(
    'leaves no name of a host called %s, and JSON stays what its schema says',
    async (host) => {
      hostIs(host);
      const shown = await bench(['show', runId, '--db', db, '--json', '--redact']);
      expect(shown.code).toBe(0);
      const json: unknown = JSON.parse(shown.stdout);
      expect(OUTPUTS['show-run'].safeParse(json).error).toBeUndefined();
      expect(json).toMatchObject({ role: 'timed', environment: { host: 'host-1', gpuUuid: 'GPU-redacted-1' } });
      const sweeps = await bench(['ls', 'sweeps', '--db', db, '--json', '--redact']);
      expect(JSON.parse(sweeps.stdout).sweeps[0].host).toBe('host-1');
      expect((await bench(['show', runId, '--db', db, '--redact'])).stdout).toContain('host-1');
    },
  );

  test('leaves no name of this machine either, in text and JSON', async () => {
    hostIs(hostname());
    for (const args of [
      ['show', runId],
      ['show', runId, '--json'],
      ['show', 'latest', '--json'],
      ['ls', 'sweeps'],
      ['ls', 'cells', '--json'],
    ]) {
      const open = await bench([...args, '--db', db]);
      const { code, stdout } = await bench([...args, '--db', db, '--redact']);
      expect([code, open.code]).toEqual([0, 0]);
      for (const secret of [hostname(), UUID, homedir() === '/' ? null : `${homedir()}/`]) {
        if (secret !== null) expect(stdout).not.toContain(secret);
      }
      expect(stdout.split('\n').length).toBe(open.stdout.split('\n').length);
    }
    expect((await bench(['show', runId, '--db', db])).stdout).toContain(hostname());
  });

  test('of JSON lines leaves JSON lines', async () => {
    const { code, stdout } = await bench(['detect', '-', '--redact'], { input: series(hostname()) });
    const lines = stdout
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    expect({ code, lines }).toMatchObject({ code: 0, lines: [{ id: 'vit on host-1' }, { id: 'resnet on host-1' }] });
  });
});

function series(host: string): string {
  return ['vit', 'resnet']
    .map((model) => JSON.stringify({ id: `${model} on ${host}`, values: [1, 1.01, 1, 0.99, 1, 1.01] }))
    .join('\n');
}
