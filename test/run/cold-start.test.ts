import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';
import type * as z from 'zod';

import { bench, temporaryFolder } from '../support/bench.ts';
import { OUTPUTS, benchJson, jsonOf } from '../support/outputs.ts';
import { STUB, stubMatrix } from '../support/stub.ts';
import { queryStore } from '../support/store-dump.ts';

/** Four cells, of which two differ in their batch: two cold starts. Without a graph batch 8 takes 1.56 ms. */
function place(env: Record<string, string> = {}) {
  const cwd = temporaryFolder();
  const matrix = stubMatrix(cwd, ['coldStart: {repeats: 4}', 'repeats: 2', 'profile: true']);
  writeFileSync(matrix, readFileSync(matrix, 'utf8').replace('batch: [1, 8]', 'batch: [1, 8], cudaGraph: [on, off]'));
  const db = join(cwd, 'bench.sqlite');
  const here = { cwd, env: { STUB_LOAD_S: '0.25', ...env } };
  const run = () => bench(['run', matrix, '--trtexec', STUB, '--db', db, '--seed', '1'], here);
  const json = <Json>(schema: z.ZodType<Json>, ...args: string[]) => jsonOf(schema, [...args, '--db', db], { cwd });
  return { cwd, db, json, matrix, run, type: (...args: string[]) => bench([...args, '--db', db], { cwd }) };
}

test('cells of their own with repeats of their own, never among the steady times', async () => {
  const { db, json, run, type } = place();
  const { code, stdout, stderr } = await run();
  expect(code).toBe(0);
  expect(stderr).toContain('small fp16 8x3 cold-start #4: first inference 1.560 ms');
  expect(stdout).toMatch(/small +fp16 +b8 +cold-start +first infere\S* +1\.560 +ms +0\.00 % +4/);
  const { cells } = await json(OUTPUTS.cells, 'ls', 'cells');
  expect(cells.map(({ label }) => label).toSorted()).toEqual([
    'small fp16 1x3 cold-start',
    'small fp16 1x3 graph',
    'small fp16 1x3 no-graph',
    'small fp16 8x3 cold-start',
    'small fp16 8x3 graph',
    'small fp16 8x3 no-graph',
  ]);
  const cold = `SELECT r.run_id FROM runs r JOIN cells c USING (cell_key) WHERE c.harness IS NOT NULL`;
  expect(queryStore(db, `SELECT * FROM measurements WHERE run_id IN (${cold})`)).toEqual([]);
  const argv = queryStore<{ argv: string }>(
    db,
    `SELECT DISTINCT argv FROM invocations JOIN runs USING (invocation_id) WHERE run_id IN (${cold}) AND argv LIKE '%:8x3%'`,
  );
  expect(argv).toHaveLength(1);
  expect(argv[0]?.argv).toContain('"--warmUp=0","--duration=0","--iterations=10"');
  expect(argv[0]?.argv).not.toContain('useCudaGraph');
  // A name means the cell itself, not its cold starts.
  const asked = await type('layers', 'small fp16 b8 graph');
  expect([asked.code, asked.stderr]).toEqual([0, '']);
  expect((await type('show', 'small fp16')).stderr).toContain("'small fp16 b1 cold-start'");
});

test('its metrics are those of trend, compare, check and filters; no deployment is chosen by it', async () => {
  const { db, cwd, json, run, type } = place();
  await run();
  await run();
  const { cells } = await json(OUTPUTS.compare, 'compare', '--filter', 'cold-start');
  expect(cells.map(({ base, metric, verdict }) => [metric, base, verdict])).toEqual([
    ['firstInferenceMs', expect.closeTo(0.72, 6), 'same'],
    ['firstInferenceMs', expect.closeTo(1.56, 6), 'same'],
  ]);
  const all = await benchJson(OUTPUTS.compare, ['compare', '--metric', 'first-inference', '--db', db], { cwd });
  expect([all.code, all.json.counts]).toMatchObject([0, { incomparable: 4, failed: 0 }]);
  // It is no latency of an application, next to that of trtexec.
  expect((await json(OUTPUTS['show-cell'], 'show', 'small fp16 b8 cold-start')).latencyGaps).toEqual([]);
  const loads = await json(OUTPUTS.compare, 'compare', '--metric', 'load-time', '--filter', 'cold-start');
  expect(loads.cells.map(({ head }) => head)).toEqual([0.25, 0.25]);
  const trend = await type('trend', '--metric', 'first-inference', '--filter', 'cold-start & first-inference>1');
  expect(trend.stdout).toContain('same: 0.00 % from 1.560 ms');
  expect(trend.stdout).not.toContain('0.7200');
  const check = await type('check');
  expect([check.code, check.stdout]).toEqual([0, expect.stringContaining('6 same')]);
  expect((await type('choose', '--no-chart')).stdout).not.toContain('cold');
  // The store can be rebuilt from what was kept.
  const rebuilt = join(cwd, 'rebuilt.sqlite');
  expect((await bench(['import', join(cwd, 'artefacts'), '--db', rebuilt], { cwd })).code).toBe(0);
  const values = 'SELECT run_id, metric, value FROM run_values ORDER BY run_id';
  expect([queryStore(rebuilt, values), queryStore(db, values).length]).toEqual([queryStore(db, values), 16]);
});

test('without exported times it is no measurement', async () => {
  const { run } = place({ STUB_RULES: '[{"when": "--warmUp=0", "does": "noTimes"}]' });
  expect(await run()).toMatchObject({ code: 4, stdout: expect.stringContaining('8 unfit') });
});

test('--filter leaves them out of a plan; a matrix states whole repeats', async () => {
  const { cwd, matrix } = place();
  const plan = (...more: string[]) => bench(['plan', matrix, '--trtexec', STUB, ...more], { cwd });
  expect((await plan()).stdout.replaceAll(/\s+/g, ' ')).toContain('then 4 profile runs');
  expect((await plan('--filter', '!cold-start')).stdout).not.toContain('cold');
  writeFileSync(matrix, readFileSync(matrix, 'utf8').replace('repeats: 4', 'repeats: 0'));
  expect(await plan()).toMatchObject({ code: 2, stderr: expect.stringMatching(/stub\.yaml:7:\d+: .*repeats/) });
});

test('recordings have none: they are left out, and that is said', async () => {
  const cwd = temporaryFolder();
  const matrix = join(cwd, 'cold.yaml');
  const base = join(import.meta.dirname, '..', '..', 'matrices', 'quickstart.yaml');
  writeFileSync(matrix, `extends: ${base}\ncoldStart: {repeats: 2}\n`);
  const { code, json } = await benchJson(OUTPUTS.plan, ['plan', matrix], { cwd });
  expect([code, json.cells.length]).toEqual([0, 24]);
  expect(json.notes).toContain('coldStart: left out, as recordings have none');
});
