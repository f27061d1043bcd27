import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { bench, finished, ROOT, startBench, temporaryFolder } from '../../support/bench.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';
import { queryStore } from '../../support/store-dump.ts';

/** Batch 8 scatters, batch 1 does not. */
const NOISE = { STUB_NOISE: '{"when": "input:8x3", "percent": 4}' };

interface Checkout {
  readonly db: string;
  readonly env: Record<string, string>;
  readonly args: (...more: string[]) => string[];
  readonly repeats: () => Record<string, number>;
}

/** Runs of each cell in the newest sweep. */
function checkout(env: Record<string, string>, more = ['repeats: 3']): Checkout {
  const folder = temporaryFolder();
  const db = join(folder, 'bench.sqlite');
  const matrix = stubMatrix(folder, more);
  return {
    db,
    env: { STUB_JOURNAL: join(folder, 'journal'), ...env },
    args: (...others) => ['run', matrix, '--trtexec', STUB, '--db', db, ...others],
    repeats: () => {
      const rows = queryStore<{ shapes: string; runs: number }>(
        db,
        `SELECT shapes, count(*) AS runs FROM runs JOIN cells USING (cell_key)
         WHERE role = 'timed' AND sweep_id = (SELECT sweep_id FROM sweeps ORDER BY started_at DESC LIMIT 1)
         GROUP BY cell_key`,
      );
      return Object.fromEntries(rows.map(({ shapes, runs }) => [shapes, runs]));
    },
  };
}

const [ONE, EIGHT] = ['{"input":[1,3]}', '{"input":[8,3]}'];

describe('bench run --until-sure', () => {
  test('repeats the cell that scatters, and not the one that does not', async () => {
    const { args, env, repeats } = checkout(NOISE);
    expect((await bench(args(), { env })).code).toBe(0);
    const { code, stderr } = await bench(args('--until-sure', '1'), { env });
    expect(code).toBe(0);
    const found = repeats();
    expect(found[ONE]).toBe(3);
    expect(found[EIGHT]).toBeGreaterThan(3);
    expect(stderr).toContain(`[7/7] small fp16 8x3 graph #4`);
  });

  test('takes of each cell the newest sweep that has it, and says of which it has none', async () => {
    const { args, env, repeats } = checkout(NOISE, ['repeats: 2']);
    const sure = ['--until-sure', '1', '--max-repeats', '6'];
    const first = await bench(args('--filter', 'batch=8', ...sure), { env });
    expect(first.stderr).toContain(
      'note: --until-sure has nothing to compare 1 cell with, so only their own noise counts: small fp16 8x3 graph\n',
    );
    expect((await bench(args('--filter', 'batch=1'), { env })).code).toBe(0);
    const { stderr } = await bench(args(...sure), { env });
    expect(stderr).not.toContain('nothing to compare');
    expect(repeats()[EIGHT]).toBeGreaterThan(2);
  });

  test('a change stands beside the sweep that it is to, and that is one of the series', async () => {
    const { args, env } = checkout({}, ['repeats: 1']);
    const [sweepId] = idsIn((await bench(args(), { env })).stdout);
    const other = checkout({}, ['repeats: 1', 'name: other']);
    const elsewhere = other.args().map((arg) => (arg === other.db ? args()[5] : arg));
    const { stderr: apart } = await bench(elsewhere.map(String), { env });
    expect(apart).not.toContain('to sweep');
    const { stderr } = await bench(args(), { env });
    expect(stderr).toMatch(new RegExp(`% vs sweep ${sweepId}\\)`));
  });

  test('killed in the middle and resumed, it goes on to the same end', async () => {
    const { args, db, env, repeats } = checkout({ ...NOISE, STUB_DELAY_MS: '80' });
    const child = startBench(args('--until-sure', '0.01', '--max-repeats', '12'), { env });
    const ended = finished(child);
    while (queryIfThere(db) < 9) await sleep(30);
    child.kill('SIGKILL');
    await ended;
    const resumed = await bench(['run', '--resume', '--db', db], { env });
    expect(resumed.code).toBe(0);
    expect(repeats()[EIGHT]).toBe(12);
    const all = (repeats()[ONE] ?? 0) + 12;
    const journal = readFileSync(env['STUB_JOURNAL'] ?? '', 'utf8');
    // Nothing twice but the one run that the kill broke off.
    expect(journal.match(/--loadEngine/g)?.length).toBeLessThanOrEqual(all + 1);
  }, 60_000);

  test('on recordings no more runs than were recorded', async () => {
    const db = join(temporaryFolder(), 'bench.sqlite');
    const matrix = join(ROOT, 'matrices', 'quickstart-pair.yaml');
    const args = ['run', matrix, '--repeats', '2', '--until-sure', '0.001', '--db', db];
    expect((await bench(args)).code).toBe(0);
    expect(queryStore(db, `SELECT max(repeat) AS most FROM runs`)).toEqual([{ most: 5 }]);
  });
});

function idsIn(text: string): string[] {
  return [...text.matchAll(/^sweep ([0-9a-f]{8})/gm)].map(([, id = '']) => id);
}

function queryIfThere(db: string): number {
  try {
    return queryStore(db, `SELECT 1 FROM runs WHERE role = 'timed'`).length;
  } catch {
    return 0;
  }
}

test('a budget ends it, and leaves out what does not fit', async () => {
  const { args, env, repeats } = checkout(NOISE);
  // Less than one run is estimated to take: one cell is measured nevertheless.
  await bench(args('--until-sure', '0.01', '--budget', '1s'), { env });
  expect(repeats()).toEqual({ [ONE]: 3 });
});
