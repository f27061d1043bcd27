import { homedir, hostname } from 'node:os';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';

import { OUTPUTS } from '../support/outputs.ts';
import { bench, sharedFolder } from '../support/bench.ts';
import { stubSmi } from '../support/nvidia-smi.ts';
import { queryStore } from '../support/store-dump.ts';
import { STUB, stubMatrix } from '../support/stub.ts';

const UUID = 'GPU-00000000-0000-0000-0000-000000000000';

describe('--redact', () => {
  let db: string;
  let runId: string;

  beforeAll(async () => {
    const folder = sharedFolder();
    db = join(folder, 'bench.sqlite');
    const matrix = stubMatrix(folder, ['repeats: 1']);
    const { env } = stubSmi({}, sharedFolder());
    await bench(['run', matrix, '--trtexec', STUB, '--db', db], { env });
    const [run] = queryStore<{ id: string }>(db, `SELECT run_id AS id FROM runs WHERE role = 'timed'`);
    runId = run?.id ?? '';
  });

  function hostIs(name: string): void {
    const store = new Database(db);
    store.prepare('UPDATE environments SET host = ?').run(name);
    store.prepare('UPDATE sweeps SET host = ?').run(name);
    store.close();
  }

  test.each(['gpu-node-07', 'a', '.*', 'timed', 'x"y\\z', 'Stub'])(
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
      const text = await bench(['show', runId, '--db', db, '--redact']);
      expect(text.stdout).toContain('host-1');
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

  test('changes nothing of what goes wrong', async () => {
    const { code, stdout, stderr } = await bench(['show', 'nothing-such', '--db', db, '--redact']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^bench: /);
  });

  test('of JSON lines leaves JSON lines', async () => {
    const { code, stdout } = await bench(['detect', '-', '--redact'], { input: series(hostname()) });
    const lines = stdout
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    expect(code).toBe(0);
    expect(lines).toMatchObject([{ id: 'vit on host-1' }, { id: 'resnet on host-1' }]);
  });
});

function series(host: string): string {
  return ['vit', 'resnet']
    .map((model) => JSON.stringify({ id: `${model} on ${host}`, values: [1, 1.01, 1, 0.99, 1, 1.01] }))
    .join('\n');
}
