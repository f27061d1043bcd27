import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { main } from '../../src/cli.ts';
import { openStore } from '../../src/store/file/open.ts';
import { bench, benchProcess, ROOT, sharedFolder, temporaryFolder } from '../support/bench.ts';
import { testIo } from '../support/io.ts';
import { stubMatrix } from '../support/stub.ts';
import { spawnProcess } from '../../src/process/spawn-process.ts';

const EXAMPLE = join(ROOT, 'matrices', 'quickstart.yaml');
const NO_MATRIX = 'is this a matrix? For a model: `bench init FILE`';
const MODEL = 'models: {vit: {onnx: a.onnx, shapes: {input: [batch, 3, 224, 224]}}}\n';

/** What lies in the folder in which the lines are typed. */
const FILES: Readonly<Record<string, string | Buffer>> = {
  'not-a-store.sqlite': 'text that is no database, but long enough',
  'notes.txt': 'hello',
  'not-executable': '#!/bin/sh\n',
  'axis.yaml': `${MODEL}axis: {batch: [1]}\n`,
  'fp17.yaml': `${MODEL}axes: {precision: [fp17], batch: 1}\n`,
  'fp17-key.yaml': 'models: {m: {precisions: {fp17: {onnx: m.onnx}}}}\n',
  'keys.yaml': `${MODEL}${Array.from({ length: 14 }, (_, index) => `key${index}: 1\n`).join('')}`,
  'excluded.yaml': `replay: pair\n${MODEL}axes: {batch: 8, cudaGraph: [on, off]}\nexclude: ["batch=8"]\n`,
  'streams.yaml': `${MODEL}axes: {batch: 8, streams: 5..1}\n`,
  'tab.yaml': 'models:\n\tvit: {}\n',
  'broken.yaml': 'models:\n  vit: {onnx: a\naxes:\n',
  'list.yaml': '- a\n',
  'extends.yaml': 'extends: none.yaml\n',
  'utf16.yaml': Buffer.from(`\uFEFF${MODEL}`, 'utf16le'),
  'model.onnx': Buffer.from([8, 7, 18, 0, 0, 255, 12]),
  shadow: Array.from({ length: 40 }, (_, index) => `user${index}:$6$secret:19000:0:99999:7:::`).join('\n'),
  'series.jsonl': '{"id": "a", "values": [1, 2\n',
  'samples.csv': 'a,b\nx,y\n',
};

const cwd = sharedFolder();

async function typed(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  let out = '';
  let err = '';
  const io = {
    ...testIo(),
    cwd,
    env: { PATH: '/nonexistent', ...env },
    spawn: spawnProcess,
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
  };
  return { code: await main(argv, io), out, err };
}

beforeAll(async () => {
  stubMatrix(cwd);
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(cwd, name), text);
  writeFileSync(join(cwd, 'not-trtexec'), '#!/bin/sh\necho hello\n');
  chmodSync(join(cwd, 'not-trtexec'), 0o755);
  mkdirSync(join(cwd, 'empty'));
  mkdirSync(join(cwd, 'folder.yaml'));
  symlinkSync('nowhere', join(cwd, 'dangling.yaml'));
  openStore(join(cwd, 'new.sqlite'), join(ROOT, 'migrations')).close();
  const pair = join(ROOT, 'matrices', 'quickstart-pair.yaml');
  await bench(['run', pair, '--repeats', '1', '--db', 'pair.sqlite', '-q'], { cwd });
});

test.each([
  // exit code, what is said, command line
  // names of commands and options
  [2, `unknown command 'comparee'; did you mean compare?`, ['comparee']],
  [2, `unknown command 'diff'; did you mean compare?`, ['diff']],

  [2, `unknown command 'status'; did you mean ls sweeps?`, ['status']],
  [2, `unknown command 'latst'; did you mean show latest?`, ['latst']],

  [2, `unknown command 'explain'; did you mean show RUN --next?`, ['explain']],

  [2, `unknown command 'verfy'; did you mean db verify?`, ['db', 'verfy']],
  [2, `unknown command 'baseline'; did you mean ls baselines?`, ['ls', 'baseline']],
  [2, `unknown option '-v'; did you mean --version?`, ['-v']],
  [2, `unknown option '--idle=3'; where it names a cell, write it last, after -- (`, ['trend', '--idle=3']],
  [2, `unknown option '--filtr'; did you mean --filter?`, ['run', '--filtr', 'x']],
  [2, 'no help on fingding; did you mean "finding"?', ['help', 'fingding']],

  // values
  [2, 'too many arguments', ['run', 'a', 'b']],
  [2, `missing required argument 'matrix'`, ['plan']],
  [2, 'bench run MATRIX', ['run']],
  [2, `argument '0' is invalid: must be a whole number, 1 or more`, ['trend', '--last', '0']],
  [2, `argument '2' is invalid: must be a whole number, 3 or more`, ['trend', '--height', '2']],
  [2, '"slower" is not one of', ['compare', '--fail-on', 'slower']],
  [2, 'must be a percentage above 0', ['compare', '--min-change', 'x']],

  [2, 'must be a time such as', ['run', EXAMPLE, '--budget', 'soon']],
  [2, 'must be from 0 to 65535', ['serve', '--port', '99999']],
  [2, 'is its shell variable set?', ['compare', '--branch', '']],

  [2, 'write a version such as 10.6', ['plan', EXAMPLE, '--tensorrt', 'ten']],
  [2, '"bach"; did you mean "batch"?', ['plan', EXAMPLE, '--filter', 'bach=8']],
  [2, '--trtexec and --replay cannot be used together', ['run', EXAMPLE, '--trtexec', 'x', '--replay', 'night1']],
  [2, 'h100, h200, night1, night2, pair', ['run', EXAMPLE, '--replay', 'night3']],
  // matrices
  [2, 'no-such.yaml: file not found', ['run', 'no-such.yaml']],
  [2, 'tap.yaml: file not found', ['plan', 'tap.yaml']],
  [2, 'dangling.yaml: file not found', ['plan', 'dangling.yaml']],
  [2, 'bench: folder.yaml: not a regular file', ['plan', 'folder.yaml']],
  [2, 'extends: none.yaml: file not found', ['plan', 'extends.yaml']],
  [2, 'axis.yaml:2:1: unknown key "axis"; did you mean "axes"?', ['plan', 'axis.yaml']],
  [2, 'fp17.yaml:2:20: axes.precision: "fp17" is not one of', ['plan', 'fp17.yaml']],
  [2, 'unknown key "fp17"; did you mean "fp16"?', ['plan', 'fp17-key.yaml']],
  [2, 'exclude leaves none of the 2 cells', ['plan', 'excluded.yaml']],
  [2, 'streams.yaml:2:27: streams: "5..1" is neither a number nor a range that ends', ['plan', 'streams.yaml']],
  [2, 'tab.yaml:2:1: YAML: Tabs are not allowed', ['plan', 'tab.yaml']],
  [2, 'broken.yaml:3:1: YAML: Flow map', ['plan', 'broken.yaml']],
  [2, 'utf16.yaml: is not a UTF-8 text file', ['plan', 'utf16.yaml']],
  [2, `list.yaml: ${NO_MATRIX}`, ['plan', 'list.yaml']],
  [2, `model.onnx: is not a UTF-8 text file: ${NO_MATRIX}`, ['plan', 'model.onnx']],
  [2, `shadow: ${NO_MATRIX}`, ['plan', 'shadow']],

  // stores, sweeps and cells
  [2, 'store not found', ['compare']],

  [2, 'is not a SQLite file', ['ls', 'sweeps', '--db', 'not-a-store.sqlite']],
  [2, 'no sweep has ended yet', ['compare', '--db', 'new.sqlite']],
  [0, 'no sweep is stored', ['ls', 'sweeps', '--db', 'new.sqlite']],
  [0, 'no such cell is stored', ['ls', 'cells', '--db', 'new.sqlite']],
  [0, 'no baseline: `bench baseline set', ['ls', 'baselines', '--db', 'new.sqlite']],
  [0, 'nothing to resume', ['run', '--resume', '--db', 'new.sqlite']],
  // other files
  [2, 'bench: the name of the file or folder is empty', ['import', '']],
  [2, 'file or folder not found', ['parse', 'nowhere']],
  [2, 'contains no results of trtexec', ['parse', 'notes.txt']],
  [2, 'contains no results of trtexec', ['import', 'empty']],
  [2, 'series.jsonl', ['detect', 'series.jsonl']],
  [2, 'samples.csv', ['detect', 'samples.csv']],
  [2, 'nowhere: file or folder not found', ['init', 'nowhere']],
  // names of what is stored
  [2, 'no cell vit,batch=8, at character 4: "," separates values', ['trend', 'vit,batch=8', '--db', 'pair.sqlite']],
  [2, 'HEAD~1: file not found', ['check', 'HEAD~1']],
  [2, 'no cell latst; did you mean "latest"? (see', ['show', 'latst', '--db', 'pair.sqlite']],

  [2, 'no cell b9; did you mean "b1"? (see', ['repro', 'b9', '--db', 'pair.sqlite']],
  [2, 'baseline:NAME or trt=VERSION; did you mean "latest"?', ['compare', 'latst', '--db', 'pair.sqlite']],
  [2, 'so there is no change to show: name two sweeps', ['compare', 'latest', '--db', 'pair.sqlite']],
  [
    2,
    '--samples, --shows, and --metric without --map, are of a run: `bench show CELL --db pair.sqlite` lists its runs',
    ['show', 'latest', '--samples', '--db', 'pair.sqlite'],
  ],
  // the environment
  [3, 'no-such-trtexec', ['run', 'stub.yaml', '--trtexec', './no-such-trtexec']],
  [3, 'not-executable', ['run', 'stub.yaml', '--trtexec', './not-executable']],
  [3, 'not-trtexec', ['run', 'stub.yaml', '--trtexec', './not-trtexec']],
  [3, 'trtexec was not found', ['run', 'stub.yaml']],
])('%i: %s', async (code, message, args) => {
  const { code: exit, err, out } = await typed(args);
  expect([exit, `${out}${err}`]).toEqual([code, expect.stringContaining(message)]);
  expect(`${out}${err}`).not.toMatch(/^\s+at |secret|\.tmp/m);
  expect(`${out}${err}`.trimEnd().split('\n')).toHaveLength(1);
  if (code !== 0) expect(out).toBe('');
});

test('all mistakes of form are named at once; known keys are listed once', async () => {
  const { code, err } = await typed(['plan', 'keys.yaml']);
  const lines = err.trimEnd().split('\n');
  expect([code, lines.length, lines.filter((line) => /keys.yaml:\d+:\d+: /.test(line)).length]).toEqual([2, 14, 14]);
  expect(lines.filter((line) => line.includes('known: '))).toEqual([expect.stringContaining('keys.yaml:2:1: ')]);
});

test('-q leaves results and errors', async () => {
  const run = ['run', join(ROOT, 'matrices', 'quickstart-pair.yaml'), '--filter', 'batch=1', '--db', 'quiet.sqlite'];
  const { code, err, out } = await typed([...run, '-q'], { PATH: process.env['PATH'] ?? '' });
  expect({ code, err, out }).toEqual({ code: 0, err: '', out: expect.stringContaining('vit_small') });
  const expected = { code: 2, err: 'bench: tap.yaml: file not found\n' };
  expect(await typed(['plan', 'tap.yaml', '--quiet'])).toMatchObject(expected);
});

test('a stack under BENCH_DEBUG=1 names lines of the sources', async () => {
  const { stderr } = await benchProcess(['compare', '--db', join(temporaryFolder(), 'none.sqlite')], {
    env: { BENCH_DEBUG: '1' },
  });
  expect(stderr).toMatch(/src\/features\/compare\/compare\.ts:\d+:\d+/);
  expect(stderr).not.toMatch(/dist\/.*\.js:/);
});
