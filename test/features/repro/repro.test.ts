import { appendFileSync, chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import type { ReproOutput } from '../../../src/features/repro/output.ts';
import { printable } from '../../../src/text/printable.ts';
import { OUTPUTS, jsonOf } from '../../support/outputs.ts';
import { bench, ROOT, sharedFolder, temporaryFolder, refusal } from '../../support/bench.ts';
import { GUIDE } from '../../support/recordings.ts';
import { runScript } from '../../support/repro-script.ts';
import { change, queryStore, firstId } from '../../support/store-dump.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';
import { storeIn } from '../../support/made-stores.ts';

const EVIL = 'a b\'"; $(touch pwned) `touch pwned` \\ & > pwned \n-x \u001b[31mred\u202eabc\rx%s\n';

type StoredRun = { readonly id: string; readonly argv: readonly string[] };

function runsOf(db: string, role: string): StoredRun[] {
  return queryStore<{ id: string; argv: string }>(
    db,
    `SELECT run_id AS id, argv FROM runs JOIN invocations USING (invocation_id)
     WHERE role = '${role}' ORDER BY started_at, run_id`,
  ).map(({ argv, id }) => ({ id, argv: JSON.parse(argv) }));
}

/** Runs a matrix to its end, with nothing said. */
async function swept(cwd: string, matrix: string, ...args: readonly string[]): Promise<StoredRun[]> {
  writeFileSync(join(cwd, 'm.yaml'), matrix);
  const env = { BENCH_PYTHON: join(ROOT, 'test', 'support', 'stub-python.mjs'), STUB_PYTHON: '{}' };
  const { code, stderr } = await bench(['run', 'm.yaml', '--no-telemetry', ...args], { cwd, env });
  expect([code, stderr.includes('bench: ')]).toEqual([0, false]);
  return runsOf(join(cwd, 'bench.sqlite'), 'timed');
}

const reproOf = async (cwd: string, what = ''): Promise<ReproOutput> =>
  await jsonOf(OUTPUTS.repro, ['repro', what], { cwd });

/** What the script must give to trtexec: what was stored, with other names for what lies in the caches. */
function expected({ argv }: StoredRun): string[] {
  const words = argv.slice(1).map((argument) => argument.replace(/^(--(?:save|load)Engine=).*$/s, '$1engine.plan'));
  return words.map((argument) => argument.replace(/^(--timingCacheFile=).*$/s, '$1timing.cache'));
}

describe('a measured run in a folder with an evil name', () => {
  let cwd: string;
  let db: string;
  const elsewhere = sharedFolder();

  beforeAll(async () => {
    cwd = join(sharedFolder(), EVIL.replaceAll('/', '_'));
    mkdirSync(cwd);
    db = join(cwd, 'bench.sqlite');
    const matrix = stubMatrix(cwd, ['repeats: 1', 'profile: true', `name: ${JSON.stringify(EVIL)}`]);
    for (const _ of ['first', 'cached']) {
      const env = { CUDA_MODULE_LOADING: EVIL };
      const { code, stderr } = await bench(['run', matrix, '--trtexec', STUB, '--no-telemetry'], { cwd, env });
      if (code !== 0) throw new Error(stderr);
    }
  }, 60_000);

  async function script(runId: string): Promise<string> {
    const path = join(elsewhere, `${runId}.sh`);
    const stderr = `wrote ${path}\n`;
    expect(await bench(['repro', runId, '--script', path], { cwd })).toMatchObject({ code: 0, stderr });
    return path;
  }

  test.each(['dash', 'bash'])('%s builds and runs what was built and run', async (shell) => {
    const [built] = runsOf(db, 'build');
    for (const run of [...runsOf(db, 'timed'), ...runsOf(db, 'profile')]) {
      const folder = temporaryFolder();
      const { calls, code, stderr } = runScript(await script(run.id), folder, {}, shell);
      expect([code, calls]).toEqual([0, built === undefined ? [] : [expected(built), expected(run)]]);
      expect([stderr, existsSync(join(folder, 'pwned'))]).toEqual([expect.not.stringContaining('another'), false]);
    }
  });

  test('a build, and a run of the second night whose engine came from the cache', async () => {
    const builds = runsOf(db, 'build');
    expect(builds).toHaveLength(1);
    expect(runScript(await script(builds[0]?.id ?? ''), temporaryFolder()).calls).toEqual(builds.map(expected));
    const repro = await reproOf(cwd, runsOf(db, 'timed').at(-1)?.id);
    expect(repro.build).toMatchObject({ argv: builds[0]?.argv, runId: builds[0]?.id });
    expect(repro).toMatchObject({ provenance: 'measured', source: 'stored', withheld: 0 });
    expect(repro.env).toEqual({ CUDA_MODULE_LOADING: EVIL });
    expect(repro.model?.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(repro.unknown).not.toContain('the SHA-256 of the model');
  });

  test('the script and what is printed hold no character that a terminal acts on', async () => {
    const [run] = runsOf(db, 'timed');
    for (const args of [['--script'], [], ['--json']]) {
      const { code, stdout } = await bench(['repro', run?.id ?? '', ...args], { cwd });
      expect(code).toBe(0);
      for (const line of stdout.split('\n')) expect(printable(line)).toBe(line);
    }
  });

  test('another model ends it with one line before anything is built, unless it is allowed', async () => {
    const path = await script(runsOf(db, 'timed')[0]?.id ?? '');
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'other.onnx'), 'another model');
    const env = { MODEL: 'other.onnx' };
    const { calls, code, stderr } = runScript(path, folder, env);
    expect([code, calls, stderr.trimEnd().split('\n').length]).toEqual([2, [], 1]);
    const text =
      /^repro: other\.onnx is not the model that was measured: SHA-256 [0-9a-f]{64} instead of [0-9a-f]{64}; ANY_MODEL=1 accepts it\n$/;
    expect(stderr).toMatch(text);
    const allowed = runScript(path, folder, { ...env, ANY_MODEL: '1' });
    expect([allowed.code, allowed.calls.length, allowed.calls[0]?.[0]]).toEqual([0, 2, '--onnx=other.onnx']);
    const missing = runScript(path, folder, { MODEL: 'nothing.onnx' });
    expect([missing.code, missing.stderr.split('\n').length]).toEqual([2, 2]);
  });

  test('without trtexec it says so; an engine can be taken as it is', async () => {
    const path = await script(runsOf(db, 'timed')[0]?.id ?? '');
    const none = runScript(path, temporaryFolder(), { TRTEXEC: '/nowhere/trtexec' });
    expect([none.code, none.stderr]).toEqual([3, 'repro: trtexec not found: set TRTEXEC=/path/to/trtexec\n']);
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'my.plan'), 'an engine');
    const taken = runScript(path, folder, { SKIP_BUILD: '1', ENGINE: 'my.plan' });
    expect(taken.calls.map(([first]) => first)).toEqual(['--loadEngine=my.plan']);
  });
});

test('external data of a model are part of its hash', async () => {
  const cwd = temporaryFolder();
  const models = join(ROOT, 'test', 'fixtures', 'onnx');
  for (const name of ['external.onnx', 'external.weights']) copyFileSync(join(models, name), join(cwd, name));
  const shapes = '{input_ids: [batch, 8], attention_mask: [batch, 8, 16]}';
  const matrix = `models: {m: {precisions: {fp16: {onnx: external.onnx}}, shapes: ${shapes}}}\naxes: {precision: fp16, batch: 2}\nrepeats: 1\n`;
  const [timed] = await swept(cwd, matrix, '--trtexec', STUB);
  await bench(['repro', timed?.id ?? '', '--script', 'repro.sh'], { cwd });
  const same = runScript(join(cwd, 'repro.sh'), temporaryFolder());
  expect([same.code, same.calls.length]).toEqual([0, 2]);
  appendFileSync(join(cwd, 'external.weights'), 'more');
  const other = runScript(join(cwd, 'repro.sh'), temporaryFolder());
  expect([other.code, other.calls]).toEqual([2, []]);
});

test('a converted model is named, and how it was made is said', async () => {
  const cwd = temporaryFolder();
  copyFileSync(join(ROOT, 'test', 'fixtures', 'onnx', 'vit_tiny.onnx'), join(cwd, 'vit.onnx'));
  const matrix = `models: {vit: {onnx: vit.onnx, shapes: {input: [batch, 3, 32, 32]}}}
axes: {precision: fp8, batch: 1}\nrepeats: 1\n`;
  const [timed] = await swept(cwd, matrix, '--trtexec', STUB);
  const { stdout } = await bench(['repro', timed?.id ?? ''], { cwd });
  expect(stdout).toContain('convert: fp8 by ModelOpt 0.47.0: 18 quantized nodes');
  expect(stdout).toContain('python3 -m modelopt.onnx.quantization --onnx_path=model.onnx');
  await bench(['repro', timed?.id ?? '', '--script', 'repro.sh'], { cwd });
  const again = (env = {}) => runScript(join(cwd, 'repro.sh'), temporaryFolder(), env);
  const named = /name the result, VARIANT=.*made by: python3 -m modelopt\.onnx\.quantization/;
  expect(again()).toMatchObject({ code: 2, calls: [], stderr: expect.stringMatching(named) });
  const onnx = (await reproOf(cwd, timed?.id)).build?.argv.find((argument) => argument.startsWith('--onnx='));
  const variant = onnx?.slice('--onnx='.length) ?? '';
  expect(variant).toContain(join(cwd, 'variants'));
  const built = again({ VARIANT: variant });
  expect(built.code).toBe(0);
  expect(built.calls.map(([first]) => first)).toEqual([onnx, '--loadEngine=engine.plan']);
  expect(again({ VARIANT: 'nowhere.onnx' })).toMatchObject({ code: 2, calls: [] });
});

test('a variable on an axis is set for the run alone, or taken away', async () => {
  const cwd = temporaryFolder();
  const text = readFileSync(stubMatrix(cwd, ['repeats: 1']), 'utf8');
  const matrix = text.replace('batch: [1, 8]', 'batch: 1, env: {FAST: [unset, "a b"]}');
  const said = [];
  for (const { id } of await swept(cwd, matrix, '--trtexec', STUB)) {
    said.push((await reproOf(cwd, id)).axisEnv['FAST']);
    await bench(['repro', id, '--script', `${said.length}.sh`], { cwd });
  }
  expect(said.toSorted()).toEqual(['a b', null]);
  const seen = said.map((_, place) => {
    const folder = temporaryFolder();
    const program = join(folder, 'trtexec');
    writeFileSync(program, `#!/bin/sh\necho "\${FAST-unset}" >>seen\nexec '${STUB}' "$@"\n`);
    chmodSync(program, 0o755);
    const { code } = runScript(join(cwd, `${place + 1}.sh`), folder, { FAST: 'mine', ARGV_PROGRAM: program });
    return [code, readFileSync(join(folder, 'seen'), 'utf8')];
  });
  expect(seen).toEqual(said.map((value) => [0, `mine\n${value ?? 'unset'}\n`]));
});

test('a run of another harness is shown; a script starts trtexec only', async () => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'h.mjs'), 'console.log(JSON.stringify({ encode: 2 }))');
  const argv = [process.execPath, 'h.mjs', '--onnx=a b', '{batch}', "--out={runFolder}/it's", '{runFolder}'];
  await swept(
    cwd,
    `models:
  tokenizer:
    harness: {kind: command, run: ${JSON.stringify(argv)}, env: {MODE: 'x y', HOME: null}, timer: wall,
      metrics: {encode: {unit: ms, better: lower}}}
axes: {batch: 1}
repeats: 1\n`,
  );
  const shown = await bench(['repro', 'tokenizer'], { cwd });
  expect([shown.code, shown.stderr]).toEqual([0, '']);
  expect(shown.stdout).toContain('timed run by command, measured');
  expect(shown.stdout).toContain(`${process.execPath} h.mjs '--onnx=a b' 1 `);
  expect(shown.stdout).not.toContain('SHA-256 of trtexec');
  expect((await reproOf(cwd, 'tokenizer')).start).toMatchObject({ cwd, env: { MODE: 'x y', HOME: null } });
  const text = 'command measured it, and a script starts only trtexec';
  expect(await bench(['repro', 'tokenizer', '--script'], { cwd })).toEqual(refusal(text));
});

test('a secret that a matrix sets for another harness is named and not written', async () => {
  const cwd = temporaryFolder();
  const run = `[sh, -c, 'echo {\\"rate\\": 1}']`;
  const env = '{OUT: /data, HF_SECOND: hf_secret}';
  const metrics = '{rate: {unit: req/s, better: higher}}';
  const harness = `{kind: command, run: ${run}, env: ${env}, metrics: ${metrics}}`;
  const [timed] = await swept(cwd, `models: {app: {harness: ${harness}}}\nrepeats: 1\n`);
  const id = timed?.id ?? '';
  // A store of an earlier bench, which did not refuse a name like this.
  change(join(cwd, 'bench.sqlite'), `UPDATE sweeps SET plan = replace(plan, 'HF_SECOND', 'HF_TOKEN')`);
  const json = await reproOf(cwd, id);
  expect([json.start?.withheld, json.withheld]).toEqual([['HF_TOKEN'], expect.any(Number)]);
  expect(JSON.stringify(json)).not.toContain('hf_secret');
});

describe('what others left', () => {
  const log = readFileSync(join(GUIDE, 'listing-06-fp16-summary.log'), 'utf8');

  async function imported(cwd: string, name: string): Promise<string> {
    await bench(['import', name], { cwd });
    return firstId(join(cwd, 'bench.sqlite'), 'SELECT run_id AS id FROM runs');
  }

  test('a bare log: its command line as one text, and no script', async () => {
    const cwd = temporaryFolder();
    const line = '--onnx=my model.onnx --fp16';
    const marker = `TensorRT.trtexec [TensorRT v100600] [b26] # trtexec ${line}`;
    writeFileSync(join(cwd, 'a.log'), `&&&& RUNNING ${marker}\n${log}&&&& PASSED ${marker}\n`);
    const id = await imported(cwd, 'a.log');
    const shown = await bench(['repro', id], { cwd });
    expect(shown).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining(`trtexec ${line}\n`) });
    expect(shown.stdout).toContain('not known: the arguments one by one');
    expect(shown.stdout).toContain('not known: the SHA-256 of the model');
    const text = 'its log joins the arguments without quotes';
    expect(await bench(['repro', id, '--script'], { cwd })).toEqual(refusal(text));
  });

  test('variables that are on no list are left out, and hashes that are none', async () => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'run'));
    writeFileSync(join(cwd, 'run', 'stdout.log'), log);
    const manifest = {
      schemaVersion: 1,
      argv: ['./my trtexec', '--loadEngine=en gine.plan', '--exportTimes=/somewhere/times.json'],
      env: { HF_TOKEN: 'hf_secret', 'X$(touch pwned)': '1', CUDA_VISIBLE_DEVICES: '3' },
      engineSha256: '"; touch pwned; "',
      buildId: '$(touch pwned)',
      provenance: 'imported',
    };
    writeFileSync(join(cwd, 'run', 'run.json'), JSON.stringify(manifest));
    const id = await imported(cwd, 'run');
    for (const args of [[], ['--json'], ['--script']]) {
      const { code, stdout } = await bench(['repro', id, ...args], { cwd });
      expect([code, stdout.includes('hf_secret'), stdout.includes('touch')]).toEqual([0, false, false]);
      expect(stdout).toContain('CUDA_VISIBLE_DEVICES');
    }
    await bench(['repro', id, '--script', 'repro.sh'], { cwd });
    const { calls, code } = runScript('repro.sh', cwd, { CUDA_VISIBLE_DEVICES: '0' });
    expect([code, calls]).toEqual([0, [['--loadEngine=en gine.plan', '--exportTimes=times.json']]]);
  });
});

test('wrong use is one line', async () => {
  const cwd = temporaryFolder();
  const id = firstId(await storeIn(cwd, 'pair'), `SELECT run_id AS id FROM runs WHERE role = 'timed'`);
  for (const [line = '', ...args] of [
    ['only one thing can go to standard output', id, '--script', '--json'],
    ['latest is a sweep: name one of its runs, or a cell (see `bench show latest`)', 'latest'],
  ]) {
    expect(await bench(['repro', ...args], { cwd })).toEqual(refusal(`bench: ${line}`));
  }
});
