import { expect, test } from 'vitest';

import { profileFor } from '../../src/records/cell.ts';

import { matrixFrom, oneModel } from '../support/matrices.ts';

const keysOf = (text: string): string[] => matrixFrom(text).cells.map(({ cell }) => cell.key);

/** The cells of the one model with more lines. */
const cellsOf = (...lines: readonly string[]) => matrixFrom(oneModel(...lines)).cells;

const PLAIN = 'axes: {precision: fp16, batch: 8}';

test('axes are crossed, the last one changing fastest, with every default written out', () => {
  const cells = cellsOf('axes: {precision: [fp16, fp8], batch: [1, 8]}', 'build: {opt: {batch: 8}}');
  const shown = cells.map(({ cell }) => `${cell.precision} ${cell.shapes['input']?.[0]}`);
  expect(shown).toEqual(['fp16 1', 'fp16 8', 'fp8 1', 'fp8 8']);
  const [first] = cells;
  expect(first?.cell).toMatchObject({
    model: 'vit',
    precisionVia: 'onnx',
    cudaGraph: true,
    dataTransfers: false,
    spinWait: true,
    streams: 1,
    inputs: { kind: 'random' },
    axisFlags: {},
  });
  const method = { warmUpMs: 200, durationS: 3, iterations: 10, percentiles: [90, 95, 99], minQueries: 30 };
  expect([first?.method, matrixFrom(oneModel(PLAIN)).repeats]).toMatchObject([method, 3]);
});

test('a key does not depend on the order of keys, on other cells, or on how a shape is written', () => {
  const a = 'models:\n  m: {onnx: a.onnx, shapes: {x: [b, 3], y: [b]}}\naxes: {b: [4], streams: 2}\n';
  const b = 'axes:\n  streams: [2]\n  b: 4\nmodels:\n  m:\n    shapes: {y: [b], x: bx3}\n    onnx: other/path.onnx\n';
  expect(keysOf(b)).toEqual(keysOf(a));
});

test('what is not part of a cell does not change its key', () => {
  const plain = keysOf(oneModel(PLAIN));
  const other = keysOf(
    oneModel(
      PLAIN,
      'build: {min: {batch: 1}, opt: {batch: 4}, max: {batch: 64}, optimizationLevel: 5, flags: {--avgTiming: 2}}',
      'run: {warmUpMs: 1000, durationS: 7, iterations: 99}',
      'repeats: 9',
    ),
  );
  expect(other).toEqual(plain);
});

test('every part of a cell changes its key', () => {
  const variants = [
    'axes: {precision: fp16, batch: 8}',
    'axes: {precision: fp8, batch: 8}',
    'axes: {precision: fp16, batch: 9}',
    'axes: {precision: fp16, batch: 8, cudaGraph: off}',
    'axes: {precision: fp16, batch: 8, dataTransfers: on}',
    'axes: {precision: fp16, batch: 8, spinWait: off}',
    'axes: {precision: fp16, batch: 8, streams: 2}',
    'axes: {precision: fp16, batch: 8, "--maxAuxStreams": 4}',
    'axes: {precision: fp16, batch: 8, warmUpMs: 200}',
    'axes: {precision: fp16, batch: 8}\nprecisions: {}',
  ].map((axes) => keysOf(oneModel(axes))[0]);
  expect([new Set(variants.slice(0, -1)).size, variants.at(-1)]).toEqual([variants.length - 1, variants[0]]);
});

test('a flag that is off is the same cell as no flag', () => {
  const plain = keysOf(oneModel(PLAIN));
  const both = matrixFrom(oneModel('axes: {precision: fp16, batch: 8, "--useManagedMemory": [false, true]}'));
  expect(both.cells.map(({ cell }) => cell.axisFlags)).toEqual([{}, { '--useManagedMemory': '' }]);
  expect(both.cells[0]?.cell.key).toBe(plain[0]);
});

test('identical cells are merged, and it is said', () => {
  const { cells, merged } = matrixFrom(
    oneModel('axes: {precision: [fp16, fp16], batch: [8]}', 'include: [{batch: 8}]'),
  );
  expect([cells.length, merged]).toEqual([1, [{ key: cells[0]?.cell.key, times: 4 }]]);
});

test('a range on the axis of an option is each of its values', () => {
  const { cells } = matrixFrom(oneModel('axes: {precision: fp16, batch: 8, --avgTiming: 1..4}'));
  expect(cells.map(({ cell }) => cell.axisFlags['--avgTiming'])).toEqual(['1', '2', '3', '4']);
});

test('include adds cells in which the named axes have other values, exclude takes cells away', () => {
  const lines = [
    'axes: {precision: [fp16, fp8], batch: [1, 8], cudaGraph: [on, off]}',
    'build: {opt: {batch: 8}}',
    'include: [{precision: fp8, batch: 32}]',
  ];
  const exclude = 'exclude: ["precision=fp8 & batch=1", "cudaGraph=off & !(batch=8)"]';
  const { cells } = matrixFrom(oneModel(...lines, exclude));
  const shown = cells.map(({ cell, dimensions }) => `${cell.precision} ${dimensions['batch']} ${cell.cudaGraph}`);
  expect(shown.join()).toBe('fp16 1 true,fp16 8 true,fp16 8 false,fp8 8 true,fp8 8 false,fp8 32 true');
});

test('exclude spares a model a precision that it lacks', () => {
  const twoModels = `models:
  a: {onnx: a.onnx, shapes: {x: [batch, 3]}}
  b: {precisions: {fp16: {onnx: b16.onnx}}, shapes: {x: [batch, 3]}}
axes: {precision: [fp32, fp16], batch: 8}`;
  const { cells } = matrixFrom(`${twoModels}\nexclude: ["model=b & precision=fp32"]`);
  const shown = cells.map(({ cell }) => `${cell.model} ${cell.precision} ${cell.precisionVia}`);
  expect(shown).toEqual(['a fp32 onnx', 'a fp16 autocast', 'b fp16 onnx']);
  expect(() => matrixFrom(`${twoModels}\nexclude: ["model=a & precision=fp32"]`)).toThrow(
    'model "b" has nothing for fp32: give its base model (onnx: FILE), or a file for it (precisions: {fp32: {onnx: FILE}})',
  );
});

test('a model may have its own axes, shapes and build', () => {
  const { cells } = matrixFrom(`models:
  vit: {onnx: v.onnx, shapes: {input: [batch, 3]}}
  bert: {onnx: b.onnx, shapes: {ids: [batch, seq], mask: [batch, seq]}, axes: {batch: [1]}, build: {opt: {seq: 128}}}
axes: {batch: [1, 8], seq: [128, 512]}
build: {opt: {batch: 8}, flags: {--avgTiming: 4}}`);
  expect(cells.map(({ cell }) => [cell.model, cell.shapes])).toEqual([
    ['vit', { input: [1, 3] }],
    ['vit', { input: [8, 3] }],
    ['bert', { ids: [1, 128], mask: [1, 128] }],
    ['bert', { ids: [1, 512], mask: [1, 512] }],
  ]);
  expect(cells[0]?.build.profiles[0]).toEqual({ input: { min: [1, 3], opt: [8, 3], max: [8, 3] } });
  expect(cells.at(-1)?.namedShapes).toEqual({ ids: ['batch', 'seq'], mask: ['batch', 'seq'] });
});

const PROFILES = `build:
  profiles:
    - {opt: {batch: 1}, max: {batch: 4}}
    - {min: {batch: 8}, opt: {batch: 64}}`;

test('an engine with several profiles: each cell runs in the one whose opt is nearest', () => {
  const { cells } = matrixFrom(
    oneModel('axes: {precision: fp16, batch: [1, 4, 6, 8, 64]}', PROFILES, 'exclude: [batch=6]'),
  );
  const image = (batch: number): number[] => [batch, 3, 224, 224];
  expect(cells[0]?.build.profiles).toEqual([
    { input: { min: image(1), opt: image(1), max: image(4) } },
    { input: { min: image(8), opt: image(64), max: image(64) } },
  ]);
  expect(cells.map(({ cell, build }) => profileFor(cell.shapes, build.profiles))).toEqual([0, 0, 1, 1]);
  expect(() => matrixFrom(oneModel('axes: {precision: fp16, batch: [1, 6]}', PROFILES))).toThrow(
    'input "input": 6 in dimension 0 is outside of 1 to 4 (build.min to build.max), and no other of the 2 profiles has it',
  );
  expect(() => matrixFrom(oneModel('axes: {precision: fp16, batch: [1]}', `${PROFILES}\n  opt: {batch: 8}`))).toThrow(
    'build.profiles and build.min, opt or max cannot be used together',
  );
});

test('whole sets of shapes are an axis', () => {
  const { cells } = matrixFrom(`models: {m: {onnx: m.onnx}}
axes: {shapes: [{a: 1x16, b: [1, 4]}, {a: [batch, 32], b: [batch, 8]}], batch: [2]}
build: {min: {a: 1x16, b: 1x4}, opt: {a: 1x16, b: 1x4}, max: {a: 8x64, b: 8x16}}`);
  expect(cells.map(({ cell }) => cell.shapes)).toEqual([
    { a: [1, 16], b: [1, 4] },
    { a: [2, 32], b: [2, 8] },
  ]);
  expect(cells[0]?.build.profiles[0]?.['a']).toEqual({ min: [1, 16], opt: [1, 16], max: [8, 64] });
});

test('ranges by steps and by powers', () => {
  const batches = (range: string): unknown[] =>
    matrixFrom(oneModel(`axes: {precision: fp16, batch: ${range}}`, 'build: {opt: {batch: 8}}')).cells.map(
      ({ dimensions }) => dimensions['batch'],
    );
  expect(batches('1..4')).toEqual([1, 2, 3, 4]);
  expect(batches('[1..64*4, 100]')).toEqual([1, 4, 16, 64, 100]);
  expect(batches('"8..24+8"')).toEqual([8, 16, 24]);
});

test('a static model has no shapes, a given engine no build', () => {
  const models = 'models:\n  s: {onnx: s.onnx, shapes: static}\n  e: {engine: e.plan, shapes: {x: [4, 4]}}\n';
  const { cells, notes } = matrixFrom(models);
  const note = 'model "e": one cell for all precisions, because that of a given engine is not known';
  const driven = 'models: {h: {harness: {kind: command, run: [x], metrics: {m: {better: lower, unit: ms}}}}}\n';
  const notesOf = (text: string) => matrixFrom(`${text}axes: {precision: [fp16, fp32]}\n`).notes;
  const ofHarness = 'model "h": one cell for all precisions, because its harness takes none';
  expect([notes, notesOf(models), notesOf(driven)]).toEqual([[], [note], [ofHarness]]);
  expect(cells.map(({ cell }) => [cell.precision, cell.precisionVia, cell.shapes])).toEqual([
    ['fp32', 'onnx', {}],
    ['unstated', 'engine', { x: [4, 4] }],
  ]);
  expect(cells.map(({ build }) => build.source.kind)).toEqual(['onnx', 'engine']);
  const given = 'models: {m: {shapes: {x: [batch]}, precisions: {fp16: {engine: e.plan}}}}\n';
  expect(matrixFrom(`${given}axes: {precision: fp16, batch: [1, 8]}`).cells[0]?.build.profiles).toEqual([]);
});

test('real inputs are part of a cell by their content', () => {
  const text = 'models:\n  m: {onnx: m.onnx, shapes: {x: [2, 3]}, inputs: {x: x.bin}}\n';
  const path = `${process.cwd()}/x.bin`;
  const withHash = (sha256: string) => matrixFrom(text, new Map([[path, { sha256, bytes: 24 }]]));
  expect(withHash('aa').cells[0]?.cell.inputs).toEqual({ kind: 'files', sha256ByInput: { x: 'aa' } });
  expect(withHash('aa').cells[0]?.cell.key).not.toBe(withHash('bb').cells[0]?.cell.key);
});

test('extends lays one file over another, key by key', () => {
  const matrix = matrixFrom({
    'm.yaml': 'extends: base.yaml\nbuild: {opt: {batch: 8}}\naxes: {batch: [1, 8]}\n',
    'base.yaml': oneModel('name: base', PLAIN, 'build: {max: {batch: 64}}', 'repeats: 7'),
  });
  expect([matrix.name, matrix.repeats, matrix.cells.length]).toEqual(['base', 7, 2]);
  const image = (batch: number): number[] => [batch, 3, 224, 224];
  expect(matrix.cells[0]?.build.profiles[0]).toEqual({ input: { min: image(1), opt: image(8), max: image(64) } });
});

test('a key of a matrix replaces what it excludes in the matrix that it extends, and null takes a value away', () => {
  const methodOver = (base: string, own: string) => {
    const texts = { 'm.yaml': `extends: base.yaml\nrun: ${own}\n`, 'base.yaml': oneModel(PLAIN, `run: ${base}`) };
    const { durationS, iterations, warmUpMs } = matrixFrom(texts).cells[0]?.method ?? {};
    return [durationS, iterations, warmUpMs];
  };
  expect(methodOver('{durationS: 5, warmUpMs: 9}', '{capture: 3}')).toEqual([0, 3, 0]);
  expect(methodOver('{capture: 3}', '{durationS: 5}')).toEqual([5, 10, 200]);
  expect(methodOver('{durationS: 5}', '{durationS: null}')).toEqual([3, 10, 200]);
  const axes = (value: string) => `axes: {precision: fp16, batch: 8, env: {A: ${value}}}`;
  const unset = { 'm.yaml': `extends: base.yaml\n${axes('null')}\n`, 'base.yaml': oneModel(axes('1')) };
  expect(matrixFrom(unset).cells.map(({ env }) => env)).toEqual([{ A: null }]);
});
