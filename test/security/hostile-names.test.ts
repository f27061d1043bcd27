import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { printable } from '../../src/text/printable.ts';
import { bench, sharedFolder } from '../support/bench.ts';
import { STUB } from '../support/stub.ts';
import { queryStore } from '../support/store-dump.ts';

// What would run something, break a line, leave a folder, or drive a terminal.
const EVIL = 'a b\'"; $(touch pwned) `touch pwned` | & > pwned \n../..\u001b[31mred\u001b]0;t\u0007 😀\u202eabc\rx';
const FILE = EVIL.replaceAll('/', '_');
const BRANCH = 'feature/ünï"q\'$(touch_pwned);`x`😀';

/** Escapes of our own would be fine on a terminal: here there is none, so nothing but line ends may be raw. */
function expectPrintable(text: string): void {
  for (const line of text.split('\n')) expect(printable(line)).toBe(line);
}

describe('names that would do harm in a shell, a path or a terminal', () => {
  let cwd: string;

  beforeAll(() => {
    cwd = join(sharedFolder(), FILE);
    mkdirSync(cwd);
    writeFileSync(join(cwd, `${FILE}.onnx`), 'model');
    const matrix = {
      name: EVIL,
      models: { [EVIL]: { shapes: { 'in$(x);😀': ['batch', 3] }, precisions: { fp16: { onnx: `${FILE}.onnx` } } } },
      axes: { precision: 'fp16', batch: [1, 8] },
      build: { opt: { batch: 8 } },
      profile: true,
    };
    writeFileSync(join(cwd, `${FILE}.yaml`), JSON.stringify(matrix));
    const git = (...args: string[]) => execFileSync('git', args, { cwd });
    git('init', '--quiet', '--initial-branch', BRANCH);
    git('-c', 'user.name=a', '-c', 'user.email=b', 'commit', '-q', '--allow-empty', '-m', EVIL);
  });

  const env = { STUB_LAYER: EVIL, COLUMNS: '200' };
  const stub = ['--trtexec', STUB];

  test('measured, compared, drawn and shown: all of it stored as it is, nothing printed raw', async () => {
    const planned = await bench(['plan', `${FILE}.yaml`, ...stub], { cwd, env });
    expect([planned.code, planned.stderr]).toEqual([0, '']);
    expectPrintable(planned.stdout);
    const run = await bench(['run', `${FILE}.yaml`, ...stub], { cwd, env });
    expect(run.code).toBe(0);
    expectPrintable(run.stdout + run.stderr);
    await bench(['run', `${FILE}.yaml`, ...stub], { cwd, env });

    const db = join(cwd, 'bench.sqlite');
    expect(queryStore(db, 'SELECT DISTINCT model FROM cells')).toEqual([{ model: EVIL }]);
    expect(queryStore(db, 'SELECT DISTINCT matrix, git_branch FROM sweeps')).toEqual([
      { matrix: EVIL, git_branch: BRANCH },
    ]);
    const [profile] = queryStore<{ id: string }>(db, `SELECT run_id AS id FROM runs WHERE role = 'profile'`);
    const shown = await bench(['show', profile?.id ?? '', '--json'], { cwd, env });
    expect(JSON.parse(shown.stdout).layers).toMatchObject([{ name: EVIL }]);
    const [cell] = queryStore<{ key: string }>(db, 'SELECT cell_key AS key FROM cells');

    const plain =
      'ls sweeps|ls cells|compare latest~1 latest|trend|trend --together|check|noise|db rejudge|show latest';
    for (const args of [
      ...`${plain}|parse artefacts|ls baselines|import artefacts`.split('|').map((words) => words.split(' ')),
      ['ls', 'cells', '--filter', `model="${EVIL.replaceAll('"', '*').replaceAll('\n', '*')}"`],
      ['trend', EVIL],
      ['show', profile?.id ?? ''],
      ['show', cell?.key ?? ''],
      ['repro', profile?.id ?? ''],
      ['baseline', 'set', 'v1', '--reason', EVIL],
    ]) {
      const { code, stdout, stderr } = await bench(args, { cwd, env });
      expect([args[0], code, stderr]).toEqual([args[0], 0, '']);
      expectPrintable(stdout);
      const json = await bench([...args, '--json'], { cwd, env });
      expectPrintable(json.stdout);
      expect(() => JSON.parse(json.stdout)).not.toThrow();
    }
    expect(JSON.stringify(readdirSync(cwd, { recursive: true }))).not.toContain('pwned"');
  }, 60_000);

  const WITH_NAME =
    'run|show|repro|export|parse|import|baseline set|baseline rm|check --as-of|detect|schema|run --resume|ls sweeps --db';

  test.each([
    ...WITH_NAME.split('|').map((words) => [...words.split(' '), EVIL]),
    ['plan', `${FILE}.yaml`, '--filter', EVIL],
    ['plan', `${FILE}.yaml`, '--trtexec', EVIL],
    ['run', `${FILE}.yaml`, '--replay', EVIL],
    ['compare', EVIL, EVIL],
    ['compare', BRANCH, BRANCH],
    ['trend', `${EVIL} of no cell`],
    ['noise', `${EVIL} of no cell`],
    ['import', '--commit', EVIL, 'artefacts'],
    ['ack', EVIL, '--reason', EVIL],
    ['ls', 'sweeps', `--${EVIL}`],
    [EVIL],
  ])('wrong in %#: one printable line', async (...args) => {
    const { code, stdout, stderr } = await bench(args, { cwd, env });
    expect([code, stdout]).toEqual([expect.toSatisfy((c) => c === 2 || c === 3), '']);
    expectPrintable(stderr);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(stderr).toMatch(/^bench: /);
    expect(JSON.stringify(readdirSync(cwd, { recursive: true }))).not.toContain('pwned"');
  });
});
