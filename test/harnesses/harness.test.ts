import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { bench, temporaryFolder } from '../support/bench.ts';

/** Prints what it was told, and what it sees of its environment. */
const HARNESS = `
const [batch, mode] = process.argv.slice(2);
if (mode === 'fail') { console.error('CUDA out of memory, tried to allocate 2 GiB'); process.exit(3); }
if (mode === 'empty') (await import('node:fs')).cpSync('m.yaml', process.env.BENCH_RUN_FOLDER + '/prof/m.yaml');
if (mode === 'hang') setInterval(() => {}, 1000);
else if (mode === 'empty') console.log(JSON.stringify({ other: 1 }));
else {
  console.log('token ' + process.env.MY_TOKEN + ', FAST=' + process.env.FAST);
  console.log(JSON.stringify({ encode: 2 * batch * (process.env.SLOW ?? 1), rate: 1000 / batch, folder: process.env.BENCH_RUN_FOLDER }));
}
`;

function matrix(more = '', axes = 'batch: [1, 8]', model = ''): string {
  return `
models:
  tokenizer:
    harness:
      kind: command
      run: [${JSON.stringify(process.execPath)}, harness.mjs, "{batch}"${more}]
      timer: wall
      metrics:
        encode: { unit: ms, better: lower }
        rate: { unit: q/s, better: higher }
${model}
axes:
  ${axes}
repeats: 2
`;
}

function folderWith(text: string): string {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'harness.mjs'), HARNESS);
  writeFileSync(join(cwd, 'm.yaml'), text);
  return cwd;
}

const storeFiles = (cwd: string): string[] => readdirSync(cwd).filter((name) => name.startsWith('bench.sqlite'));

const json = async (args: readonly string[], cwd: string) =>
  JSON.parse((await bench([...args, '--json'], { cwd })).stdout);

const FAST = { PATH: process.env['PATH'], TRTEXEC: '/nowhere' };

describe('any command beside trtexec', () => {
  test('is run, stored, shown and compared, without any trtexec', async () => {
    const cwd = folderWith(matrix());
    const first = await bench(['run', 'm.yaml', '--json'], { cwd, env: FAST });
    const { cells, counts, tensorrt, trtexec } = JSON.parse(first.stdout);
    expect([first.code, tensorrt, trtexec]).toEqual([0, null, null]);
    expect(counts).toEqual({ measured: 4, unfit: 0, failed: 0, skipped: 0, kept: 0, replaced: 0 });
    expect(cells.map(({ label, metric, value }: Record<string, unknown>) => [label, metric, value])).toEqual([
      ['tokenizer batch=1 by command/wall', 'encode:lower:ms', 2],
      ['tokenizer batch=8 by command/wall', 'encode:lower:ms', 16],
    ]);
    await bench(['run', 'm.yaml'], { cwd, env: FAST });
    const compared = await json(['compare', '--metric', 'rate'], cwd);
    expect(compared.counts).toMatchObject({ same: 2, slower: 0, faster: 0 });
    expect(compared.cells[0]).toMatchObject({ metric: 'rate:higher:q/s', unit: 'q/s', betterIs: 'higher' });
    const trend = await bench(['trend', 'tokenizer', '--filter', 'batch=8'], { cwd });
    expect(trend.stdout).toContain('tokenizer batch=8 by command/wall · encode');
    const near = await bench(['compare', '--metric', 'throughput-qps'], { cwd });
    expect(near.stderr).toContain('neither one of gpu, latency, throughput, p99,');
    const wrong = await bench(['compare', '--metric', 'rats'], { cwd });
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(/^bench: --metric rats: neither one of .*did you mean "rate"\?\n$/);
  });

  test('what fails says so, and why', async () => {
    const modes = matrix(', "{mode}"', 'batch: 1\n  mode: [ok, fail, empty]');
    const cwd = folderWith(modes.replace('repeats: 2', 'repeats: 1'));
    expect(await bench(['run', 'm.yaml'], { cwd })).toMatchObject({ code: 4 });
    const { cells } = await json(['show', 'latest'], cwd);
    const modeOf = ({ label }: { label: string }) => label.split(' ')[2] ?? '';
    const failed = (reason: string) => ({ others: [{ role: 'timed', kind: 'failed', reason, times: 1 }] });
    const [empty, fail, ok] = cells.toSorted((a: { label: string }, b: { label: string }) =>
      modeOf(a) < modeOf(b) ? -1 : 1,
    );
    expect([empty, fail, ok]).toMatchObject([failed('incomplete'), failed('outOfMemory'), { others: [] }]);
    const run = await json(['show', (await json(['show', empty.key], cwd)).runs[0].runId], cwd);
    expect([run.outcome.evidence[0].text, run.method]).toEqual(['stdout.log: field encode is missing', null]);
    expect((await bench(['show', empty.key, '--next'], { cwd })).stderr).toContain(`\`bench show ${empty.key}\``);
    expect(run.artefacts[0].name).toBe('prof/m.yaml');
  });

  test('one that hangs is ended at its limit', async () => {
    const hang = matrix(', hang', 'batch: 1').replace('repeats: 2', 'repeats: 1');
    const cwd = folderWith(hang.replace('timer: wall', 'timer: wall\n      timeoutS: 1'));
    const { code } = await bench(['run', 'm.yaml'], { cwd });
    const { cells } = await json(['show', 'latest'], cwd);
    expect([code, cells[0].others]).toEqual([4, [{ role: 'timed', kind: 'failed', reason: 'timeout', times: 1 }]]);
  });

  test('one that is not there is named, with exit code 3', async () => {
    const cwd = folderWith(matrix().replace(JSON.stringify(process.execPath), 'no-such-program'));
    const stderr = expect.stringContaining(' by command/wall: no-such-program: program not found\n');
    expect(await bench(['run', 'm.yaml'], { cwd })).toMatchObject({ code: 3, stderr });
  });
});

test('why explains the own metric of the cell, and that of a finding; of one that no run has, it says so', async () => {
  const cwd = folderWith(matrix('', 'batch: 1').replace('repeats: 2', 'repeats: 3'));
  await bench(['run', 'm.yaml'], { cwd });
  await bench(['run', 'm.yaml'], { cwd, env: { SLOW: '1.2' } });
  const { findings } = await json(['check'], cwd);
  const expected = {
    metric: 'encode:lower:ms',
    outcome: 'notExplained',
    changes: [{ base: 2, head: 2.4, isReal: true }],
  };
  for (const words of [[findings[0].id], ['tokenizer', 'latest~1', 'latest']]) {
    expect(await json(['why', ...words], cwd)).toMatchObject(expected);
  }
  const { code, stderr } = await bench(['why', findings[0].id, '--metric', 'gpu'], { cwd });
  expect([code, stderr]).toEqual([2, 'bench: the runs of both sides share no such metric\n']);
  expect((await bench(['why', findings[0].id], { cwd })).stdout).toMatch(/^encode \+20\.0 %: not explained\n/);
});

test('variables of the environment: an axis sets them, or takes them away; secrets are inherited and never kept', async () => {
  const cwd = folderWith(matrix('', 'batch: 1\n  env: { FAST: [unset, "1"] }'));
  const env = { FAST: 'inherited', MY_TOKEN: 'sesame-open-42' };
  expect((await bench(['run', 'm.yaml'], { cwd, env })).code).toBe(0);
  const { cells } = await json(['show', 'latest'], cwd);
  const seen: Record<string, string> = {};
  for (const { key, label } of cells) {
    const { artefactFolder, env: stored } = await json(['show', (await json(['show', key], cwd)).runs[0].runId], cwd);
    const folder = join(cwd, 'artefacts', artefactFolder);
    const bytes = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
    seen[label] = `${stored.FAST ?? 'unset'} ${bytes.join(' ').includes('sesame')}`;
  }
  expect(seen).toEqual({
    'tokenizer batch=1 by command/wall': 'unset false',
    'tokenizer env.FAST=1 batch=1 by command/wall': '1 false',
  });
  for (const name of storeFiles(cwd)) expect(readFileSync(join(cwd, name), 'latin1')).not.toContain('sesame');
  expect((await bench(['show', cells[0].key], { cwd })).stdout).toContain('encode');
});

test('measured differently: another timer is another cell; medians are compared when that is asked for', async () => {
  const cwd = folderWith(matrix('', 'batch: 8'));
  await bench(['run', 'm.yaml'], { cwd });
  writeFileSync(join(cwd, 'm.yaml'), matrix('', 'batch: 8').replace('wall', 'cudaEvent'));
  await bench(['run', 'm.yaml'], { cwd });
  const text = '1 cell on both sides, measured by different harnesses: --across-methods compares their medians';
  expect((await bench(['compare', 'latest~1', 'latest'], { cwd })).stdout).toContain(text);
  const across = await json(['compare', '--across-methods'], cwd);
  expect(across.across).toEqual(['timer: wall clock against CUDA events']);
  const [base, head] = [expect.closeTo(16, 9), expect.closeTo(16, 9)];
  expect(across.cells).toMatchObject([{ metric: 'encode:lower:ms', base, head }]);
  const tail = await bench(['compare', '--across-methods', '--metric', 'p99Ms'], { cwd });
  const why = 'bench does not compare percentiles of different harnesses, which follow different rules';
  expect([tail.code, tail.stderr]).toEqual([2, `bench: --metric p99Ms: ${why}\n`]);
});
