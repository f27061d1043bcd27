import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { OUTPUTS } from '../../support/outputs.ts';
import { bench } from '../../support/bench.ts';
import { FakeGpu } from '../../support/fake-gpu.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';

describe('the same engine, with clocks floating and locked', () => {
  let gpu: FakeGpu;
  let db: string;

  const compare = (...more: string[]) =>
    bench(['compare', 'latest~1', 'latest', '--db', db, ...more], { cwd: gpu.folder });

  beforeAll(async () => {
    gpu = new FakeGpu('all tests');
    db = join(gpu.folder, 'bench.sqlite');
    const matrix = stubMatrix(gpu.folder, ['repeats: 3']);
    for (const more of [[], ['--lock-clocks', '1590']]) {
      const args = ['run', matrix, '--trtexec', STUB, '--db', db, '--no-telemetry', ...more];
      const { code, stderr } = await bench(args, { env: gpu.env(), cwd: gpu.folder });
      if (code !== 0) throw new Error(stderr);
    }
  }, 60_000);

  test('they are not compared, and the way to do it is named', async () => {
    const { code, stdout } = await compare();
    expect(code).toBe(4);
    expect(stdout).toContain('2 no result');
    expect(stdout).toMatch(/clocks \w+ → locked 1590 MHz: compare them anyway with --across-clocks/);
    const { stdout: json } = await compare('--json');
    const output = JSON.parse(json);
    expect(OUTPUTS.compare.safeParse(output).error?.issues ?? []).toEqual([]);
    expect(output).toMatchObject({ counts: { incomparable: 2, same: 0 }, across: [] });
  });

  test('with --across-clocks the difference stands first', async () => {
    const { code, stdout } = await compare('--across-clocks');
    expect(code).toBe(0);
    expect(stdout.split('\n')[0]).toMatch(/^compared anyway: clocks \w+ → locked 1590 MHz$/);
    const { stdout: json } = await compare('--across-clocks', '--json');
    const output = JSON.parse(json);
    expect(output.across).toEqual([expect.stringMatching(/^clocks \w+ → locked 1590 MHz$/)]);
    expect(output.counts).toMatchObject({ incomparable: 0, same: 2 });
  });

  test('nights with other clocks are another history', async () => {
    const { stdout } = await bench(['check', '--db', db], { cwd: gpu.folder });
    expect(stdout).toContain('--across-clocks');
  });
});
