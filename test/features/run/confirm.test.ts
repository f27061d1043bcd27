import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, temporaryFolder } from '../../support/bench.ts';
import { queryStore } from '../../support/store-dump.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';

/** Nights of a matrix of two cells, and one more after them. */
class Nights {
  readonly folder = temporaryFolder();
  readonly db = join(this.folder, 'bench.sqlite');
  private readonly matrix: string;
  private readonly env: Record<string, string>;

  constructor(more: readonly string[] = []) {
    this.matrix = stubMatrix(this.folder, ['repeats: 5', ...more]);
    const noise = '{"when": "", "percent": 0.2}';
    this.env = { STUB_JOURNAL: join(this.folder, 'journal'), STUB_NOISE: noise };
  }

  run(args: readonly string[] = [], env: Record<string, string> = {}) {
    const all = ['run', this.matrix, '--trtexec', STUB, '--db', this.db, '--no-telemetry', ...args];
    return bench(all, { env: { ...this.env, ...env }, cwd: this.folder });
  }

  bench(...args: readonly string[]) {
    return bench([...args, '--db', this.db], { env: this.env, cwd: this.folder });
  }

  async calm(nights: number): Promise<void> {
    for (let night = 0; night < nights; night += 1) {
      const { code, stderr } = await this.run();
      if (code !== 0) throw new Error(stderr);
    }
  }

  /** Another model, that is another engine. */
  changeModel(): void {
    appendFileSync(join(this.folder, 'model.onnx'), Buffer.from([0x32, 0x00]));
  }

  pairs() {
    return queryStore<{ repeat: number; build: string }>(
      this.db,
      `SELECT repeat, build_id AS build FROM runs WHERE role = 'pair' AND cell_key = (SELECT min(cell_key) FROM runs WHERE role = 'pair') ORDER BY started_at, repeat`,
    );
  }
}

const SLOW = { STUB_ENGINE_FACTOR: '1.05' };

test('a slower engine is confirmed against the last good one, and reported at once', async () => {
  const nights = new Nights();
  await nights.calm(2);
  nights.changeModel();
  const { code, stderr } = await nights.run(['--confirm'], SLOW);
  expect(code).toBe(0);
  expect(stderr).toMatch(
    /small fp16 1x3 graph: .* \+5\.\d % in 5 of 5 pairs with the engine of sweep \w{8}: confirmed/,
  );
  const pairs = nights.pairs();
  // The first of each pair alternates; at last the profiles of both.
  expect(pairs.map(({ repeat }) => repeat)).toEqual([1, 2, 4, 3, 5, 6, 8, 7, 9, 10, 1002, 1001]);
  expect(new Set(pairs.map(({ build, repeat }) => `${repeat % 2} ${build}`)).size).toBe(2);
  const check = await nights.bench('check', '--json');
  expect(check.code).toBe(1);
  expect(JSON.parse(check.stdout).findings).toMatchObject([
    { state: 'confirmed', cause: 'engine', pairs: { count: 5, agreeing: 5, outcome: 'confirmed' } },
  ]);
});
