import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';

import { NO_NSYS } from '../../../src/features/profile/capture-of-cell.ts';
import { OUTPUTS, benchJson, jsonOf } from '../../support/outputs.ts';
import { bench, type BenchOptions, sharedFolder, temporaryFolder, refusal } from '../../support/bench.ts';
import { fakeTools } from '../../support/fake-tools.ts';
import { queryStore, firstId } from '../../support/store-dump.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';
import { storeIn } from '../../support/made-stores.ts';

const NSYS = join(import.meta.dirname, '..', '..', 'support', 'stub-nsys.ts');

/** An environment in which Nsight Systems is what stands in for it. */
function withNsys(folder: string, more: Readonly<Record<string, string>> = {}) {
  const tools = fakeTools(join(folder, 'tools'), { nsys: `exec '${process.execPath}' '${NSYS}' "$@"` });
  return { PATH: `${tools}:${process.env['PATH']}`, ...more };
}

/** Two cells of one engine, measured and profiled once. */
async function measured(folder: string): Promise<void> {
  const args = ['run', stubMatrix(folder, ['repeats: 1']), '--trtexec', STUB, '--profile'];
  const { code, stderr } = await bench(args, { cwd: folder });
  if (code !== 0) throw new Error(stderr);
}

function attachedIn(folder: string) {
  const attached = 'SELECT name, kind FROM attachments ORDER BY name';
  return queryStore<{ name: string; kind: string }>(join(folder, 'bench.sqlite'), attached);
}

describe('bench profile CELL --nsys', () => {
  const folder = sharedFolder();
  const here = () => ({ cwd: folder, env: withNsys(folder) });
  const start = (args: readonly string[], options: BenchOptions = {}) => bench(args, { ...here(), ...options });

  beforeAll(async () => await measured(folder), 60_000);

  test('--dry-run shows the lines with the engine that is there, and runs nothing', async () => {
    const journal = join(folder, 'journal');
    const env = withNsys(folder, { STUB_NSYS_JOURNAL: journal });
    const { code, stdout, stderr } = await start(['profile', 'batch=8', '--nsys', '--dry-run'], { env });
    expect([code, stderr]).toEqual([0, '']);
    const engine = readdirSync(join(folder, 'engines')).find((name) => name.endsWith('.plan'));
    const plan = join(folder, 'engines', engine ?? '');
    expect(stdout.split('\n')).toEqual([
      'capture of small fp16 8x3 graph, TensorRT 10.6.0',
      `engine: found, ${plan}`,
      '',
      'capture',
      `nsys profile -o small_profile --capture-range cudaProfilerApi --cuda-graph-trace=node ${STUB} --profilingVerbosity=detailed --loadEngine=${plan} --warmUp=0 --duration=0 --iterations=50 --shapes=input:8x3 --useCudaGraph --noDataTransfers --useSpinWait`,
      '',
      'export',
      'nsys export --type sqlite --force-overwrite true -o small_profile.sqlite small_profile.nsys-rep',
      '',
    ]);
    expect([readFileSync(journal, 'utf8'), attachedIn(folder)]).toEqual(['--version\nprofile --help\n', []]);
  });

  test('a capture is read and attached; no run and no statistic changes', async () => {
    const before = await start(['show', 'latest', '--json']);
    const runs = queryStore(join(folder, 'bench.sqlite'), 'SELECT * FROM runs');
    const args = ['profile', 'batch=8', '--nsys', '--output', 'one'];
    const { code, json, stderr } = await benchJson(OUTPUTS.profile, args, here());
    expect([code, stderr]).toEqual([0, expect.stringContaining('capturing 50 queries of small')]);
    expect(json.kernels?.kernels).toEqual([
      { name: 'sm90_xmma_fprop', count: 50, ms: 2, maxMs: 0.04, nodes: [] },
      { name: 'splitKreduce', count: 50, ms: 0.4, maxMs: 0.008, nodes: [] },
      { name: 'permute', count: 50, ms: 0.25, maxMs: 0.005, nodes: [] },
    ]);
    expect(attachedIn(folder).map(({ name, kind }) => [name.replace(/\d/g, '0'), kind])).toEqual([
      ['00000000T000000Z-one.nsys-rep', 'nsysReport'],
      ['00000000T000000Z-one.sqlite', 'nsysExport'],
    ]);
    expect((await start(['show', 'latest', '--json'])).stdout).toBe(before.stdout);
    expect(queryStore(join(folder, 'bench.sqlite'), 'SELECT * FROM runs')).toEqual(runs);
  });

  test('bench layers --kernels shows the newest capture again, or a file alone', async () => {
    const again = await start(['layers', 'batch=8', '--kernels']);
    expect([again.code, again.stderr]).toEqual([0, '']);
    expect(again.stdout).toContain('150 kernels · captured by Nsight Systems');
    expect(again.stdout).toMatch(/2\.000 +ms +75\.5 % +50 +0\.04000 ms +sm90_xmma_fprop/);
    const alone = await jsonOf(OUTPUTS['layers-kernels'], ['layers', '--kernels', 'one.sqlite'], here());
    expect(alone.kernels.map(({ name }) => name)).toEqual(['sm90_xmma_fprop', 'splitKreduce', 'permute']);
    const text = /bench: batch=1 has no capture: `bench profile [0-9a-f]{8} --nsys`/;
    expect(await start(['layers', 'batch=1', '--kernels'])).toEqual(refusal(text));
  });

  test('a report of that name stays, unless it shall be replaced', async () => {
    const args = ['profile', 'batch=8', '--nsys', '--output', 'one'];
    const line = `bench: ${join(folder, 'one.nsys-rep')} is there already: --output gives the capture another name, --force replaces it\n`;
    expect(await start(args)).toMatchObject({ code: 2, stderr: line });
    const { code, json } = await benchJson(OUTPUTS.profile, [...args, '--force', '--iterations', '7'], here());
    expect([code, json.kernels?.kernels[0]?.count]).toEqual([0, 7]);
  });

  test('an engine that is not in the cache is built first', async () => {
    const own = temporaryFolder();
    await measured(own);
    rmSync(join(own, 'engines'), { recursive: true });
    expect((await start(['profile', 'batch=8', '--nsys', '--dry-run'], { cwd: own })).stdout).toMatch(
      /build\n\S+stub-trtexec.mjs --onnx=\S+model.onnx --profilingVerbosity=detailed --saveEngine=small.plan .*--skipInference\n\ncapture\n.*--loadEngine=small.plan /,
    );
    const stderr = expect.stringContaining('built small fp16: in 1.5 s');
    expect(await start(['profile', 'batch=8', '--nsys'], { cwd: own })).toMatchObject({ code: 0, stderr });
    expect(readdirSync(join(own, 'engines')).some((name) => name.endsWith('.plan'))).toBe(true);
    const verified = await start(['db', 'verify'], { cwd: own });
    expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining('no damage')]);
  });

  test('what is larger than --max-size is not attached', async () => {
    const count = attachedIn(folder).length;
    const args = ['profile', 'batch=1', '--nsys', '--output', 'large', '--max-size', '8'];
    const { code, json } = await benchJson(OUTPUTS.profile, args, here());
    const { files, kernels, notes } = json;
    expect([code, kernels]).toEqual([0, null]);
    expect(notes).toEqual([expect.stringMatching(/more than --max-size 8 B: it is not attached; fewer/)]);
    expect(files).toEqual([{ path: join(folder, 'large.nsys-rep'), bytes: expect.any(Number), attached: false }]);
    expect(attachedIn(folder)).toHaveLength(count);
    const ofExport = await start(['profile', 'batch=1', '--nsys', '--output', 'half', '--max-size', '1KiB']);
    expect(ofExport.stdout).toMatch(/half\.nsys-rep \(.* B\)\n\S*half\.sqlite \(.*\), not attached\n$/);
  });

  test('what nsys says when it fails is told, with exit code 4', async () => {
    const env = withNsys(folder, { STUB_NSYS_FAILS: 'Insufficient privilege: ERR_NVGPUCTRPERM' });
    const { code, stderr } = await start(['profile', 'batch=8', '--nsys', '--output', 'no'], { env });
    const said =
      'bench: nsys captured nothing: exit code 1, no no.nsys-rep\nbench:   Insufficient privilege: ERR_NVGPUCTRPERM\n';
    expect([code, stderr]).toEqual([4, expect.stringContaining(said)]);
  });

  test('bench show --next: the ladder, and what comes next on it', async () => {
    const timed = `SELECT run_id AS id FROM runs JOIN cells USING (cell_key) WHERE role = 'timed' AND shapes LIKE '%[1,3]%'`;
    const db = join(folder, 'bench.sqlite');
    const next = ['show', firstId(db, timed), '--next'];
    new Database(db).exec(`DELETE FROM runs WHERE run_id IN (${timed.replace('timed', 'profile')})`);
    const said = await jsonOf(OUTPUTS.explain, next, here());
    const expected = ['trtexec done', 'nsys next', 'ncu later'];
    expect(said.ladder.map(({ tool, state }) => `${tool} ${state}`)).toEqual(expected);
    expect(said.findings.at(-1)).toBe('the layer that takes longest has 0.1000 ms, 100 % of all layers: conv1');
    expect(said.next?.bench?.slice(0, 2)).toEqual(['bench', 'profile']);
    expect((await start(said.ladder[0]?.bench.slice(1) ?? [])).stdout).toContain('layers of small fp16 8x3');
    await start(['profile', 'batch=1', '--nsys', '--output', 'small1']);
    const { stdout } = await start(next);
    expect(stdout).toMatch(/next step: Nsight Compute, bench profile [0-9a-f]{8} --ncu\n$/);
    expect(stdout).not.toMatch(/nvprof|nvvp/);
  });

  test('--ncu shows the line of a layer, by a part of its name, or of the hottest', async () => {
    const hottest = await start(['profile', 'batch=8', '--ncu']);
    const named = await start(['profile', 'batch=8', '--ncu', 'onv']);
    expect(hottest.stdout).toContain('--nvtx-include TensorRT@conv1/ ');
    expect([named.stdout, hottest.stdout]).toEqual([hottest.stdout, expect.not.stringContaining('--useCudaGraph')]);
    const stderr = 'bench: no layer conv2: `bench layers` lists them\n';
    expect(await start(['profile', 'batch=8', '--ncu', 'conv2'])).toMatchObject({ code: 2, stderr });
  });
});

describe('without Nsight Systems', () => {
  const env = { PATH: join(process.execPath, '..') };

  test('a capture says what to do, with exit code 3; --dry-run says how it spells', async () => {
    const folder = temporaryFolder();
    await measured(folder);
    const refused = await bench(['profile', 'batch=8', '--nsys'], { cwd: folder, env });
    expect(refused).toEqual(refusal(`bench: ${NO_NSYS}\n`, 3));
    const args = ['profile', 'batch=8', '--nsys', '--dry-run', '--gpu-metrics'];
    const { code, stdout } = await bench(args, { cwd: folder, env });
    expect(code).toBe(0);
    expect(stdout).toContain("note: no nsys on PATH: its options follow TensorRT's guide");
    expect(stdout).toContain(' --gpu-metrics-device all ');
  });

  test('a matrix needs neither store nor trtexec to be shown', async () => {
    const folder = temporaryFolder();
    const args = ['profile', '--matrix', stubMatrix(folder), 'batch=8', '--nsys', '--dry-run'];
    const { code, stdout } = await bench([...args, '--tensorrt', '11.1'], { cwd: folder, env });
    expect(code).toBe(0);
    expect(stdout).toContain(
      `trtexec --onnx=${join(folder, 'model.onnx')} --profilingVerbosity=detailed --saveEngine=small.plan --minShapes=input:1x3 `,
    );
    expect(stdout).toContain(
      '\nnsys profile -o small_profile --capture-range cudaProfilerApi --cuda-graph-trace=node trtexec --profilingVerbosity=detailed --loadEngine=small.plan --warmUp=0 --duration=0 --iterations=49 --shapes=input:8x3\n',
    );
    expect(existsSync(join(folder, 'bench.sqlite'))).toBe(false);
  });
});

test('a command is captured with its window set, its arguments handed on one by one', async () => {
  const folder = temporaryFolder();
  const script = join(folder, 'harness.mjs');
  writeFileSync(
    script,
    `import { writeFileSync } from 'node:fs';
     const { TLLM_PROFILE_START_STOP: window, TLLM_PROFILE_RECORD_GC: gc, TLLM_TORCH_PROFILE_TRACE: trace } = process.env;
     writeFileSync('told.json', JSON.stringify({ args: process.argv.slice(2), window, gc, trace }));`,
  );
  const args = ['profile', '--nsys', '--preset', 'trtllm', '--window', '3-9', '--output', 'llm', '--json'];
  const command = ['--', process.execPath, script, 'a b', '--x=$HOME'];
  const { code, stdout } = await bench([...args, ...command], { cwd: folder, env: withNsys(folder) });
  expect(code).toBe(0);
  const kernels = { kernels: [{ count: 3 }, { count: 3 }, { count: 3 }] };
  const files = [{ attached: false }, { attached: false }];
  expect(OUTPUTS.profile.parse(JSON.parse(stdout))).toMatchObject({ cell: null, files, kernels });
  const told = { args: ['a b', '--x=$HOME'], window: '3-9', gc: '1', trace: 'llm.json' };
  expect(JSON.parse(readFileSync(join(folder, 'told.json'), 'utf8'))).toEqual(told);
});

describe('what cannot be captured', () => {
  test.each([
    [[], 'which profiler? --nsys captures kernels'],
    [['x', '--nsys', '--window', '1-2'], 'name one cell; --window and a command after -- need --preset trtllm'],
    [['x', '--nsys', '--tensorrt', '11.1'], '--tensorrt is for --matrix with --dry-run'],
    [['--nsys', '--preset', 'trtllm', '--dla', '--', 'x'], "cannot be used with option '--dla'"],
    [['--nsys', '--preset', 'trtllm', '--', 'x'], 'write a window, and the command after --'],
    [['x', '--nsys', '--preset', 'trtllm', '--window', '1-2', '--', 'x'], 'write a window, and the command after --'],
  ])('bench profile %j', async (args, text) => {
    expect(await bench(['profile', ...args], { cwd: temporaryFolder() })).toEqual(refusal(text));
  });

  test('a cell of another program than trtexec', async () => {
    const folder = temporaryFolder();
    const matrix = join(folder, 'command.yaml');
    const harness = '{kind: command, run: [node, x.mjs], metrics: {ownMs: {unit: ms, better: lower}}}';
    writeFileSync(matrix, `models: {own: {harness: ${harness}}}\n`);
    const args = ['profile', '--matrix', matrix, 'own', '--nsys', '--dry-run'];
    const refused = await bench(args, { cwd: folder, env: withNsys(folder) });
    expect(refused).toEqual(refusal('another harness measures this cell'));
  });

  test('recordings: there is no program to capture', async () => {
    const folder = temporaryFolder();
    const cell = firstId(await storeIn(folder, 'pair'), 'SELECT cell_key AS id FROM cells');
    const refused = await bench(['profile', cell, '--nsys'], { cwd: folder, env: withNsys(folder) });
    expect(refused).toEqual(refusal('this cell was recorded: a capture needs a real trtexec'));
  });
});
