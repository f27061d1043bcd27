import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';

import { describe, expect, test } from 'vitest';

import { init } from '../../../src/features/init/init.ts';
import { plan } from '../../../src/features/plan/plan.ts';
import { loadMatrix } from '../../../src/matrix/load.ts';
import { draftShapes, guessSize } from '../../../src/features/init/draft.ts';
import type { OnnxDimension, OnnxTensorInfo } from '../../../src/tools/onnx/facts.ts';
import { OUTPUTS, benchJson } from '../../support/outputs.ts';
import { bench, ROOT, temporaryFolder, refusal } from '../../support/bench.ts';
import { fakeTools } from '../../support/fake-tools.ts';
import { testIo } from '../../support/io.ts';
import { ONNX_MODELS } from '../../support/onnx-models.ts';
import { model, toBytes, valueInfo } from '../../support/onnx-writer.ts';
import { Repository } from '../../support/repository.ts';
import { STUB } from '../../support/stub.ts';

const FOLDERS = [ONNX_MODELS, join(ROOT, 'test', 'fixtures', 'accuracy')];
const FIXTURES = FOLDERS.flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.onnx'))
    .map((name) => relative(ROOT, join(folder, name))),
);
const NODE = dirname(process.execPath);
const MODELOPT = `echo '{"python": "3.12.0", "packages": {"nvidia-modelopt": "0.47.0"}}'`;

/** A machine of which nothing is there but Node, and what the test puts on PATH. */
function machine(cwd: string, tools: Readonly<Record<string, string>> = {}) {
  const path = [fakeTools(join(cwd, '.tools'), tools), NODE].join(delimiter);
  return { cwd, env: { PATH: path, TRTEXEC: undefined, BENCH_PYTHON: undefined } };
}

const withModels = (...names: readonly string[]): string => withModel('vit_tiny.onnx', ...names);

function withModel(of: string, ...names: readonly string[]): string {
  const cwd = temporaryFolder();
  for (const name of names) copyFileSync(join(ONNX_MODELS, of), join(cwd, name));
  return cwd;
}

const written = (cwd: string, name = 'matrix.yaml'): string => readFileSync(join(cwd, name), 'utf8');

async function drafted(cwd: string, tools: Readonly<Record<string, string>>, version?: string) {
  const { env } = machine(cwd, tools);
  const more = version === undefined ? {} : { TRTEXEC: STUB, STUB_VERSION: version };
  const { code, json, stderr } = await benchJson(OUTPUTS.init, ['init'], { cwd, env: { ...env, ...more } });
  expect([code, stderr]).toEqual([0, '']);
  return json;
}

describe('what it writes', () => {
  test.each(FIXTURES)('bench plan takes the matrix for %s', async (name) => {
    const { cwd, env } = machine(temporaryFolder());
    let printed = '';
    const io = { ...testIo(), cwd, env, out: (text: string): void => void (printed += text) };
    expect(await init([join(ROOT, name)], { output: 'matrix.yaml' }, io)).toBe(0);
    for (const tensorrt of ['8.6', '10.6', '11.0']) {
      if (tensorrt === '8.6' && /fp8|quantized/.test(name)) continue;
      printed = '';
      expect(await plan('matrix.yaml', { tensorrt, json: true }, io)).toBe(0);
      expect(JSON.parse(printed).runs.length).toBeGreaterThan(2);
    }
  });

  test('it runs at once', async () => {
    const cwd = withModels('vit.onnx');
    const env = { ...machine(cwd).env, TRTEXEC: STUB };
    expect((await bench(['init', '--output', 'night.yaml'], { cwd, env })).code).toBe(0);
    const ran = await bench(['run', 'night.yaml', '--json'], { cwd, env });
    expect([ran.code, JSON.parse(ran.stdout).cells.length]).toEqual([0, 6]);
  });

  test('the schema beside it, and the line that names it', async () => {
    const cwd = withModels('vit.onnx');
    expect((await bench(['init'], machine(cwd))).stdout).toContain('schema for editors: matrix.schema.json');
    const [first] = written(cwd).split('\n');
    expect(first).toBe('# yaml-language-server: $schema=./matrix.schema.json');
    const shipped = readFileSync(join(ROOT, 'matrices', 'matrix.schema.json'), 'utf8');
    expect(written(cwd, 'matrix.schema.json')).toBe(shipped);
  });

  test('what it guessed is said beside it', async () => {
    const cwd = withModel('control_flow.onnx', 'found.onnx');
    await bench(['init'], machine(cwd));
    for (const line of [
      'batch: [1, 8, 32] # guessed, a batch',
      'x_dim1: [16] # guessed, the model does not describe this',
      'cudaGraph: off # the host evaluates its loops and conditions',
      'min: { batch: 1, x_dim1: 1 }',
    ])
      expect(written(cwd)).toContain(line);
  });
});

describe('what bench makes is kept out of commits', () => {
  const ALL = ['artefacts/', 'engines/', 'variants/', 'bench.sqlite*', 'report.html', 'report.md', 'report.xml'];

  test('by a .gitignore where there is none', async () => {
    const repository = new Repository(withModels('vit.onnx'));
    const { folder } = repository;
    expect((await drafted(folder, {}, '100600')).ignoreFile).toBe('.gitignore');
    expect(written(folder, '.gitignore').split('\n').slice(1, -1)).toEqual(ALL);
    for (const name of ['artefacts', 'engines']) mkdirSync(join(folder, name));
    for (const name of ['artefacts/a', 'engines/e', 'bench.sqlite', 'bench.sqlite-wal', 'report.html']) {
      writeFileSync(join(folder, name), '');
    }
    const untracked = repository.git('status', '--porcelain', '--untracked-files=all').split('\n').toSorted();
    expect(untracked.join()).toBe('?? .gitignore,?? matrix.schema.json,?? matrix.yaml,?? vit.onnx');
  });
});

describe('precisions by what is there', () => {
  test.each([
    ['100600', {}, 'fp32=onnx fp16=flag'],
    ['110000', { python3: MODELOPT }, 'fp32=onnx fp16=autocast'],
    [undefined, {}, 'fp32=onnx'],
    [undefined, { python3: MODELOPT }, 'fp32=onnx fp16=autocast'],
  ])('trtexec %s, %o: %s', async (version, tools, expected) => {
    const { models, lacking } = await drafted(withModels('vit.onnx'), tools, version);
    const [{ precisions } = { precisions: [] }] = models;
    expect(precisions.map((each) => `${each.precision}=${each.source}`).join(' ')).toBe(expected);
    expect(lacking.some((what) => what.includes('trtexec'))).toBe(version === undefined);
  });

  test('each file is a model, and equal names get a number', async () => {
    const cwd = withModels('vit.onnx', 'vit-fp8.onnx');
    // Folders of other programs, and hidden ones, are not looked into.
    for (const folder of ['old', 'node_modules', '.hidden', 'variants']) {
      mkdirSync(join(cwd, folder));
      copyFileSync(join(cwd, 'vit.onnx'), join(cwd, folder, 'vit.onnx'));
    }
    expect((await drafted(cwd, {}, '100600')).models.map(({ name, onnx }) => [name, onnx])).toEqual([
      ['vit-fp8', 'vit-fp8.onnx'],
      ['vit', 'vit.onnx'],
      ['vit_2', 'old/vit.onnx'],
    ]);
  });
});

describe('it never harms', () => {
  test('a file that is there stays without --force', async () => {
    const cwd = withModels('vit.onnx');
    writeFileSync(join(cwd, 'matrix.yaml'), 'mine');
    expect(await bench(['init'], machine(cwd))).toEqual(refusal('matrix.yaml exists: --force replaces it'));
    expect(written(cwd)).toBe('mine');
    for (const name of ['matrix.schema.json', '.gitignore']) writeFileSync(join(cwd, name), '{}');
    expect((await bench(['init', '--force'], machine(cwd))).code).toBe(0);
    expect(written(cwd)).toContain('models:');
    for (const name of ['matrix.schema.json', '.gitignore']) expect(written(cwd, name)).toBe('{}');
  });

  test.each([
    ['no ONNX file in this folder or below it: name one', [], {}],
    ['nowhere: file or folder not found', ['nowhere'], {}],
    ['text.onnx: not readable as ONNX', [], { 'text.onnx': 'hello' }],
  ])('%s', async (message, args, files: Readonly<Record<string, string>>) => {
    const cwd = temporaryFolder();
    for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
    expect(await bench(['init', ...args], machine(cwd))).toEqual(refusal(message));
    expect(existsSync(join(cwd, 'matrix.yaml'))).toBe(false);
  });

  test('hostile names of files, inputs and dimensions become nothing but names', async () => {
    const cwd = temporaryFolder();
    const evil = 'a"\n# b: $(touch pwned) \u001b[31m: [x]';
    const hostile = model(17, ...valueInfo(11, 'x: {y}', ['precision', "n'\n- z", 4, '\u202e', 'true']));
    const fine = model(17, ...valueInfo(11, '#x:"[]', ['precision', "n'\n- z", 4, '\u202e', 'true']));
    writeFileSync(join(cwd, `${evil}.onnx`), toBytes(hostile));
    writeFileSync(join(cwd, `${evil}2.onnx`), toBytes(fine));
    writeFileSync(join(cwd, 'true.onnx'), toBytes(fine));
    const { models, skipped } = await drafted(cwd, {});
    expect(models.map(({ name }) => name)).toEqual([`${evil}2`, 'true']);
    expect(skipped.map(({ problem }) => problem)).toEqual([expect.stringContaining('a space')]);
    const text = written(cwd);
    // oxlint-disable-next-line no-control-regex -- that is what must not be there
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    const files = { cwd: '/', readText: () => text, hashFiles: () => new Map(), readInputs: () => null };
    const matrix = loadMatrix('matrix.yaml', files);
    expect(new Set(matrix.cells.map(({ cell }) => cell.model))).toEqual(new Set([`${evil}2`, 'true']));
  });
});

function input(name: string, shape: readonly OnnxDimension[] | null, elementType = 'float32'): OnnxTensorInfo {
  return { name, elementType, shape };
}

test.each([
  ['batch', 0, [1, 8, 32], 1, 8, 32],
  [null, 0, [1, 8, 32], 1, 8, 32],
  ['sequence_length', 1, [128], 1, 128, 512],
  ['height', 2, [256], 128, 256, 512],
  ['past_sequence_length', 2, [128], 1, 128, 512],
  ['unk__17', 1, [16], 1, 16, 64],
  // No batch: a second dimension of that name would be one, a first of a telling name is not.
  ['seq', 0, [128], 1, 128, 512],
])('a size for an open dimension: %s in place %i', (name, place, values, min, opt, max) => {
  expect(guessSize(name, place)).toMatchObject({ values, min, opt, max });
});

describe('shapes of a model', () => {
  test('dimensions of the same name are one axis, those without a name each their own', () => {
    const shapes = draftShapes([
      input('ids', ['batch', 'seq']),
      input('mask', ['batch', 'seq', null]),
      input('other', [null, 4, null]),
      input('fixed', [1, 3]),
    ]);
    const other = ['batch', 4, 'other_dim2'];
    expect(shapes).toMatchObject({
      shapes: { ids: ['batch', 'seq'], mask: ['batch', 'seq', 'mask_dim2'], other },
      dimensions: ['batch', 'seq', 'mask_dim2', 'other_dim2'].map((name) => ({ name })),
    });
  });

  test('names that mean something else in a matrix get another one, and no two the same', () => {
    const shapes = draftShapes([input('x', ['streams', 'model', 'a-b', 'a.b', '+', '3d'])]);
    expect(shapes.shapes).toEqual({
      x: ['streams_dim', 'model_dim', 'a_b', 'a_b_2', expect.stringMatching(/^dim\d$/), '_3d'],
    });
  });

  test('a model without open dimensions needs none', () => {
    expect(draftShapes([input('x', [1, 3]), input('scalar', [])])).toEqual({ shapes: null, dimensions: [] });
  });

  test.each([
    [input('x', null), 'does not say how many dimensions input x has'],
    [input('x', ['batch'], 'sequence'), 'is of the type sequence'],
    [input('x', ['batch'], 'string'), 'is of the type string'],
    [input('a,b', ['batch']), 'a comma, a quote or a space'],
  ])('%j cannot be stated', (stated, problem) => expect(() => draftShapes([stated])).toThrow(problem));
});
