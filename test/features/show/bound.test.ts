import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { serialStatistics } from '../../../src/features/show/text.ts';
import { runsThatShow } from '../../../src/judge/run-noise.ts';
import { imageCell } from '../../support/image-cell.ts';
import { simulatedCells, simulateNights } from '../../support/simulated-store.ts';
import { bench, temporaryFolder, ROOT, sharedFolder, temporaryStore } from '../../support/bench.ts';
import { jsonOf, OUTPUTS, benchJson } from '../../support/outputs.ts';
import { FIXTURES } from '../../support/recordings.ts';
import { change, queryStore, firstId } from '../../support/store-dump.ts';
import { importedStore, simulatedStore, storeIn, sharedStore } from '../../support/made-stores.ts';

test('a cell says what limits it in its newest sweep, with evidence and advice', async () => {
  const env = { BENCH_DB: join(temporaryFolder(), 'bench.sqlite') };
  await bench(['import', join(FIXTURES, 'cpu-contended')], { env });
  const cell = ['show', 'resnet_small b1 graph'];
  expect((await bench(cell, { env })).stdout.replaceAll(/\s+/g, ' ')).toContain(
    'bound by the host: GPU idle 49 % of the time, 49 % in 126 stalls between queries → keep other work off the CPUs',
  );
  expect((await jsonOf(OUTPUTS['show-cell'], cell, { env })).bound?.by).toBe('host');
});

test('advice names its cell, and a CUDA graph that gains nothing there is not advised', async () => {
  const [slow, fast] = [1.25, 1.0002];
  const cells = ['vit', 'resnet'].flatMap((model) =>
    [true, false].map((cudaGraph) => imageCell({ model, precision: 'fp16', batch: 1, cudaGraph })),
  );
  const value = (cell: number) => [1, slow, 1, fast][cell] ?? null;
  const figures = (cell: number) => ({ boundBy: cell % 2 === 0 ? ('compute' as const) : ('host' as const) });
  const db = simulatedStore({ cells, nights: 1, repeats: 2, value, figures });
  change(db, 'UPDATE measurements SET enqueue_ratio = 0.95, gpu_busy = 0.9');
  const shown = async (what: string): Promise<string> =>
    (await bench(['show', what, '--db', db])).stdout.replaceAll(/\s+/g, ' ');
  const helps = 'use a CUDA graph or a larger batch';
  const graph = `→ no-graph → graph: +25.0 % items/s in this sweep: cell ${cells[0]?.key.slice(0, 8)}`;
  const gainsNothing = 'use a larger batch: a CUDA graph gains nothing here';
  expect(await shown('latest')).toContain(`→ vit fp16 1x3x224x224 no-graph: ${helps} ${graph} bound by the host`);
  expect(await shown('latest')).toContain(`→ resnet fp16 1x3x224x224 no-graph: ${gainsNothing}`);
  expect(await shown('vit no-graph')).toContain(`→ ${helps}`);
  expect(await shown('resnet no-graph')).toContain(`→ ${gainsNothing}`);
  // Of cells that --filter left out, the plan has the keys.
  const { key } = imageCell({ model: 'vit', precision: 'fp16', batch: 12, cudaGraph: false });
  change(db, `UPDATE sweeps SET plan = '${JSON.stringify({ leftOut: [key] })}'`);
  const run = `1x3x224x224 → 12x3x224x224: not measured in this sweep: \`bench run MATRIX --filter ${key.slice(0, 8)}\``;
  expect(await shown('vit no-graph')).toContain(`${graph} → ${run}`);
});

test('a CUDA graph that cannot be captured is not advised', async () => {
  const cells = [true, false].map((cudaGraph) => imageCell({ model: 'vit', precision: 'fp16', batch: 1, cudaGraph }));
  const db = simulatedStore({ cells, nights: 1, repeats: 2, value: () => 1, figures: () => ({ boundBy: 'host' }) });
  change(db, 'UPDATE measurements SET enqueue_ratio = 0.95, gpu_busy = 0.9');
  change(db, `UPDATE runs SET outcome = 'unfit', reason = 'graphNotCaptured' WHERE cell_key = '${cells[0]?.key}'`);
  const { stdout } = await bench(['show', 'latest', '--db', db], { env: { COLUMNS: '200' } });
  expect(stdout).toContain('no-graph: use a larger batch: a CUDA graph cannot be captured here');
  const rows = (await jsonOf(OUTPUTS.run, ['show', 'latest', '--db', db])).cells;
  expect(rows.map(({ bound, measured }) => `${measured} ${bound?.by}`)).toEqual(['0 undefined', '2 host']);
  change(db, `UPDATE sweeps SET plan = '{"controlFlow":{"vit":"Loop (1)"}}'; DELETE FROM runs WHERE reason <> ''`);
  const { stdout: planned } = await bench(['show', 'vit no-graph', '--db', db], { env: { COLUMNS: '200' } });
  expect(planned).toContain('→ use a larger batch: a CUDA graph is unlikely to help: the host evaluates Loop (1)');
});

test('the gain of a cell that the sweep left out is that of its newest runs', async () => {
  const cells = [true, false].map((cudaGraph) => imageCell({ model: 'vit', precision: 'fp16', batch: 1, cudaGraph }));
  const graph = cells[0]?.key;
  const figures = () => ({ boundBy: 'host' as const });
  const db = simulatedStore({ cells, nights: 2, repeats: 2, value: (cell) => 1 + cell / 4, figures });
  const older = firstId(db, 'SELECT sweep_id AS id FROM sweeps ORDER BY started_at');
  change(db, 'UPDATE measurements SET enqueue_ratio = 0.95, gpu_busy = 0.9');
  change(db, `UPDATE sweeps SET plan = '${JSON.stringify({ leftOut: [graph] })}' WHERE sweep_id = '${older}'`);
  for (const table of ['runs', 'sweep_cells'])
    change(db, `DELETE FROM ${table} WHERE (sweep_id = '${older}') = (cell_key = '${graph}')`);
  const { stdout } = await bench(['show', 'vit no-graph', '--db', db], { env: { COLUMNS: '200' } });
  expect(stdout).toContain(`no-graph → graph: +25.0 % items/s in its newest runs: cell ${graph?.slice(0, 8)}`);
});

test('of sweeps that share a name an id is asked for', async () => {
  const db = simulatedStore({ cells: simulatedCells(1), nights: 2, repeats: 1, value: () => 1 });
  change(db, "UPDATE sweeps SET name = 'guide'");
  const { stderr } = await bench(['show', 'guide', '--db', db]);
  expect(stderr).toContain('guide is the start of several ids, or the name of several sweeps: write more of it');
});

test.each([
  ['Orin', /share their memory here/],
  ['NVIDIA H200', /look at the PCIe link$/],
])('the advice to a copy-bound cell on %s', async (gpuName, advice) => {
  const figures = () => ({ boundBy: 'h2d' as const });
  const cells = simulatedCells(1);
  const db = simulatedStore({ cells, nights: 1, repeats: 2, value: () => 1, gpuName: () => gpuName, figures });
  const sweep = await jsonOf(OUTPUTS.run, ['show', 'latest', '--db', db]);
  expect(sweep.cells[0]?.bound?.advice).toMatch(advice);
  const id = firstId(db, `SELECT run_id AS id FROM runs WHERE role = 'timed'`);
  const { json, stderr } = await benchJson(OUTPUTS['show-run'], ['show', id, '--db', db]);
  expect([json.bound?.advice, stderr]).toEqual([expect.stringMatching(advice), '']);
});

describe('what comes next', () => {
  const db = join(sharedFolder(), 'bench.sqlite');

  beforeAll(async () => {
    await bench(['run', join(ROOT, 'matrices', 'quickstart.yaml'), '--filter', 'vit_small fp16 b1', '--db', db]);
  });

  async function findingsOf(cudaGraph: 0 | 1): Promise<readonly string[]> {
    const timed = `SELECT run_id AS id FROM runs JOIN cells USING (cell_key) WHERE role = 'timed' AND cuda_graph = ${cudaGraph}`;
    const id = firstId(db, timed);
    return (await jsonOf(OUTPUTS.explain, ['show', id, '--next', '--db', db])).findings;
  }

  test('a cell that a CUDA graph would help names the one that has it, and what that gained', async () => {
    expect(await findingsOf(0)).toContainEqual(
      expect.stringMatching(/^no-graph → graph: \+17\.0 % items\/s in this sweep: cell [0-9a-f]{8}$/),
    );
    expect((await findingsOf(1)).join('\n')).not.toContain('→ graph');
  });

  test('how far a batch is from that which the engine is tuned for', async () => {
    expect(await findingsOf(1)).toContain(
      'its batch is 0.13 times the opt batch of its engine (8): another optimization profile (build.profiles) may be faster',
    );
  });

  test('another profile is suggested unless an item takes as long as at opt, as a chart shows', async () => {
    const filter = ['--filter', 'vit_small fp16 graph', '--db', db];
    await bench(['run', join(ROOT, 'matrices', 'quickstart.yaml'), ...filter]);
    const about = async (cell: string): Promise<string | undefined> =>
      (await jsonOf(OUTPUTS.explain, ['show', `${cell} graph`, '--next', '--db', db])).findings.find((finding) =>
        finding.includes('opt batch'),
      );
    const text = 'its batch is 4.0 times the opt batch of its engine (8)';
    expect([await about('b32'), await about('b8')]).toEqual([text, undefined]);
    expect(await about('b1')).toContain('(8): another optimization profile');
    const { stdout } = await bench(['choose', '--scaling', ...filter]);
    expect(stdout).toMatch(/items\/s \(logarithmic scales\)\n38423 ┤ +c\n +┤\n +┤ +b\n[ ┤\n]+ 2780 ┤a\n/);
  });

  test('whether copies and compute overlap', async () => {
    const text = 'copies and compute overlap: the longest of them goes on for 99.6 % of the time';
    expect(await findingsOf(0)).toContain(text);
  });
});

test('a host without CPUs says nothing of what a CUDA graph gains', async () => {
  const gains = async (folder: string): Promise<unknown> => {
    const db = await importedStore(join(FIXTURES, folder), '--sweep', 'one');
    const pairs = (await jsonOf(OUTPUTS.run, ['show', 'one', '--db', db])).graphGains?.pairs ?? [];
    return pairs.map(({ gainPercent }) => Number(gainPercent.toFixed(1)));
  };
  expect([await gains('cpu-contended'), await gains(join('nights', '1'))]).toEqual([[], [16.2, 13.2]]);
});

test('what a CUDA graph gains has an interval and a verdict, and a larger batch that gained is named', async () => {
  const cells = [1, 8].flatMap((batch) =>
    [false, true].map((cudaGraph) => imageCell({ model: 'vit', precision: 'fp16', batch, cudaGraph })),
  );
  const value = (cell: number, _: number, repeat: number) => ([1.25, 1, 1.9, 2][cell] ?? 0) * (1 + repeat / 1000);
  const db = simulatedStore({ cells, nights: 1, repeats: 5, value, figures: () => ({ boundBy: 'host' }) });
  const { stdout } = await bench(['show', 'latest', '--db', db], { env: { COLUMNS: '240' } });
  const pattern =
    /in the middle of 2 pairs, most \+25\.0 % queries\/s \(\+24\.\d … \+25\.\d %, 95 %: faster\): vit .*; worst -5\.0 % queries\/s \(.*: slower\): vit/;
  expect(stdout).toMatch(pattern);
  const [pair] = (await jsonOf(OUTPUTS.run, ['show', 'latest', '--db', db])).graphGains?.pairs ?? [];
  expect(pair).toMatchObject({ verdict: 'faster', ciPercent: [expect.closeTo(24.8, 0), expect.closeTo(25.2, 0)] });
  const findings = async (batch: number): Promise<readonly string[]> => {
    const key = cells.find((cell) => cell.shapes['input']?.[0] === batch && cell.cudaGraph === true)?.key ?? '';
    const id = firstId(db, `SELECT run_id AS id FROM runs WHERE cell_key = '${key}'`);
    return (await jsonOf(OUTPUTS.explain, ['show', id, '--next', '--db', db])).findings;
  };
  // 8 items in twice the time.
  const text = `1x3x224x224 → 8x3x224x224: +300 % items/s in this sweep: cell ${cells[3]?.key.slice(0, 8)}`;
  expect(await findings(1)).toContain(text);
});

test('what each neighbor on the GPU, or a lean runtime, costs a cell, the largest cost first', async () => {
  const cells = [{}, { with: 'bert' }, { with: 'vit' }, { '--useRuntime': 'lean' }].map((axisFlags) =>
    imageCell({ model: 'vit', precision: 'fp16', batch: 8, axisFlags }),
  );
  const value = (cell: number, _: number, repeat: number) => ([1, 1.25, 2, 1.04][cell] ?? 0) * (1 + repeat / 1000);
  const db = simulatedStore({ cells, nights: 1, repeats: 5, value });
  const { stdout } = await bench(['show', 'latest', '--db', db], { env: { COLUMNS: '240' } });
  expect(stdout).toMatch(
    /a neighbor on the GPU: -35\.0 % queries\/s in the middle of 2 pairs, worst -50\.0 % queries\/s \(-50\.\d … -49\.\d %, 95 %: slower\).*: vit fp16 .*with=vit\n {2}a lean or dispatch runtime: -3\.8 % queries\/s .*: vit fp16 .*runtime=lean/,
  );
});

test('what transfers cost stands below a sweep that has a cell both ways', async () => {
  const db = await importedStore(join(FIXTURES, 'formats'), '--sweep', 'one');
  const { stdout } = await bench(['show', 'one', '--db', db], { env: { COLUMNS: '140' } });
  expect(stdout).toContain('transfers: -1.5 % queries/s (unclear) and +24.6 % latency: resnet_small.fp16 8x3x224x224');
  const [pair] = (await jsonOf(OUTPUTS.run, ['show', 'one', '--db', db])).transferCosts?.pairs ?? [];
  const expected = ['-1.5', '24.6'];
  expect([pair?.gainPercent, pair?.latencyChangePercent].map((percent) => percent?.toFixed(1))).toEqual(expected);
});

describe('a finding', () => {
  const folder = sharedFolder();

  const here = (...args: readonly string[]) => bench([...args, '--db', join(folder, 'bench.sqlite')], { cwd: folder });

  beforeAll(async () => await storeIn(folder, 'pairs'), 60_000);

  test('a finding is shown by its id, as check says it, with all its numbers and who accepted it', async () => {
    const [reported] = (await jsonOf(OUTPUTS.check, ['check'], { cwd: folder })).findings;
    const id = reported?.id.slice(0, 8) ?? '';
    const { schemaVersion: _, ...shown } = await jsonOf(OUTPUTS['show-finding'], ['show', id], { cwd: folder });
    expect(shown).toEqual(reported);
    await here('ack', id, '--reason', 'wanted for batch 32');
    const { stdout } = await here('show', id);
    expect(stdout).toContain(`▲ ${id} 2 cells slower by 15.8 to 25.5 %, since `);
    expect(stdout).toMatch(/^ {2}acknowledged on \d{4}-\d\d-\d\d: wanted for batch 32$/m);
    expect(stdout).toMatch(/^vit_small +fp16 +b1 +GPU compute time +0.3533 ms +0.4434 ms +\+25.5 %$/m);
    expect(stdout).toMatch(/^vit_small +fp16 +b8 +throughput +2420 +qps +2088 +qps +-13.7 %$/m);
  });
});

test("an application's latency stands next to that of trtexec, and the gap is named on both sides", async () => {
  const { folder, db } = temporaryStore();
  simulateNights(db, { cells: simulatedCells(2), nights: 2, repeats: 3, value: (_, night) => 5 + night });
  const take = async (name: string, ms: number, metric: string, shape: string): Promise<void> => {
    writeFileSync(join(folder, name), `${ms}\n`);
    const cell = ['--model', 'vit', '--precision', 'fp16', '--shapes', shape, '--metric', metric];
    expect(await bench(['import', join(folder, name), ...cell, '--db', db])).toMatchObject({ code: 0, stderr: '' });
  };
  const [first] = simulatedCells(1);
  const shape = Object.entries(first?.shapes ?? {}).map(([input, sizes]) => `${input}:${sizes.join('x')}`);
  await take('e2e.txt', 10, 'e2e_ms', shape.join(','));
  await take('rate.txt', 90, 'rate:higher:items/s', shape.join(','));
  await take('other.txt', 10, 'e2e_ms', 'input:64x3x224x224');
  const show = async (cell: string) => {
    const { json, stderr } = await benchJson(OUTPUTS['show-cell'], ['show', cell, '--db', db]);
    expect(stderr).toBe('');
    return json;
  };
  const trtexec = await show(first?.key ?? '');
  expect(trtexec.latencyGaps).toHaveLength(1);
  const [gap] = trtexec.latencyGaps;
  const expected = { applicationMs: 10, trtexecMs: 6, gapMs: 4, metric: 'e2e_ms:lower:ms', trtexecKey: first?.key };
  expect(gap).toMatchObject(expected);
  const { latencyGaps } = await show(gap?.applicationKey ?? '');
  expect(latencyGaps).toEqual([{ ...gap, otherLabel: expect.stringContaining('vit fp16') }]);
  expect((await bench(['show', first?.key ?? '', '--db', db], { env: { COLUMNS: '200' } })).stdout).toMatch(
    /\ne2e_ms 10\.00 ms, latency of trtexec 6\.000 ms without copies: 4\.000 ms \(40\.0 %\) outside of what trtexec measures \(vit fp16 .* by command\)/,
  );
});

// scipy.stats.variation(x), the correlations by numpy, their initial positive sequence.
test.each([
  [
    'a slope',
    (i: number) => 1 + 0.0001 * i + (0.01 * ((i * 37) % 11)) / 11 + 0.02 * (Math.floor(i / 8) % 2),
    [0.011628229, 0.739474192, 39.444349015],
  ],
  ['turns', (i: number) => 1 + (i % 2 === 0 ? 0.1 : -0.1), [0.1, -0.995, 200]],
  ['the same', () => 1, [0, 0, 200]],
])('of %s: variation, autocorrelation and effective sample size', (_, value, [cv = 0, lag1 = 0, effective = 0]) => {
  const found = serialStatistics(Array.from({ length: 200 }, (__, place) => value(place)));
  expect(found.cv).toBeCloseTo(cv, 9);
  expect(found).toMatchObject({ lag1: expect.closeTo(lag1, 9), effective: expect.closeTo(effective, 6) });
});

// The visible change by scipy.stats.t is 1.271, 0.897, 0.763 and 0.728 % with 1 to 4 runs.
test.each([
  [0.4, null],
  [2, 1],
  [1, 2],
  [0.75, 4],
])('runs of 0.25 %% of noise that show %d %%: %o', (percent, runs) => {
  expect(runsThatShow({ run: 0.0025, sweep: null, degrees: 40 }, percent)).toBe(runs);
});

test('of one run: how steady its queries are, and the least that shows 1 %', async () => {
  const db = await importedStore(join(ROOT, 'recordings/night2/nights_2_vit_small.fp16.b8.graph1'));
  const run = ['show', firstId(db, 'SELECT run_id AS id FROM runs'), '--db', db];
  const { steadiness } = await jsonOf(OUTPUTS['show-run'], run);
  expect(steadiness).toMatchObject({ queries: 2392, noiseFrom: 'queries', showsPercent: 1, repeats: 1 });
  // By numpy from times.json.
  expect(steadiness).toMatchObject({
    cvPercent: expect.closeTo(0.11029498, 8),
    driftPercent: expect.closeTo(0.0071949, 6),
    autocorrelation: expect.closeTo(0.0887653, 6),
    effectiveQueries: expect.closeTo(138.795798, 5),
  });
  expect((await bench(run)).stdout.replaceAll(/\s+/g, ' ')).toContain(
    'repeats at least 1 run a side shows 1 %, from its queries alone: one run does not show the noise between runs',
  );
});

test('of a cell with several runs their noise counts, as bench noise has it', async () => {
  const db = await sharedStore('pair');
  const first = 'SELECT run_id AS id, cell_key AS cell FROM samples JOIN runs USING (run_id) LIMIT 1';
  const [run] = queryStore<{ id: string; cell: string }>(db, first);
  const [cell] = (await jsonOf(OUTPUTS.noise, ['noise', run?.cell ?? '', '--db', db])).cells;
  const { steadiness } = await jsonOf(OUTPUTS['show-run'], ['show', run?.id ?? '', '--db', db, '--shows', '0.7']);
  const expected = { noiseFrom: 'runs', showsPercent: 0.7, runPercent: cell?.runPercent, repeats: 3 };
  expect(steadiness).toMatchObject(expected);
  expect(cell?.visible[0]?.percent).toBeGreaterThan(0.7);
  expect(cell?.visible[1]?.percent).toBeLessThan(0.7);
});
