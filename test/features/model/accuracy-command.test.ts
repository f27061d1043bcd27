import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { COMPARISON, worstOutput } from '../../../src/features/model/compare-pair.ts';
import { readAnswer } from '../../../src/tools/python/helper.ts';
import { accuracyDrop, sameAccuracyHistory } from '../../../src/records/accuracy.ts';
import type { AccuracyInputs, AccuracyRecord } from '../../../src/records/accuracy.ts';
import { OUTPUTS, benchJson } from '../../support/outputs.ts';
import { bench, type Finished, ROOT, temporaryFolder, refusal, temporaryStore } from '../../support/bench.ts';
import { writeNpy } from '../../support/npy.ts';
import { readFixture } from '../../support/recordings.ts';
import { NEEDS_PYTHON, TEST_PYTHON } from '../../support/python.ts';
import { queryStore } from '../../support/store-dump.ts';
import { accuracyOf } from '../../support/deployments.ts';

const MODELS = join(ROOT, 'test', 'fixtures', 'accuracy');
const model = (name: string): string => join(MODELS, `${name}.onnx`);

const PYTHON = { env: { BENCH_PYTHON: TEST_PYTHON ?? 'python3' } };
const accuracy = (...args: string[]): Promise<Finished> => bench(['model', 'accuracy', ...args], PYTHON);

async function compared(...args: string[]) {
  const { code, json } = await benchJson(OUTPUTS.accuracy, ['model', 'accuracy', ...args], PYTHON);
  return { code, comparisons: json.comparisons.filter((row) => row.kind === 'compared') };
}

const ROWS = [
  [0.2, 1.4, -3.3, 2.6],
  [0.1, 0.3, 0.2, 0.4],
  [10.25, -7.75, 0, 1.1],
  [5.4, 5.45, -5.4, 5.1],
  [0, 0, 0, 0],
];

describe.skipIf(TEST_PYTHON === null)(`through onnxruntime (${NEEDS_PYTHON})`, () => {
  test('rows of a file: their number, the worst cosine and how many have the same largest value', async () => {
    const data = join(temporaryFolder(), 'rows.npy');
    writeNpy(data, ROWS);
    const { code, comparisons } = await compared(model('identity'), model('rounded'), '--data', data);
    expect([code, comparisons[0]?.accuracy]).toMatchObject([0, { samples: 5, cosineMin: 0, top1: { same: 3, of: 5 } }]);
  });

  test('a variant that is a tenth larger has 20 dB; the opposite has −6.02 dB and a cosine of −1', async () => {
    const [scaled] = (await compared(model('identity'), model('scaled'))).comparisons;
    expect(scaled?.accuracy.sqnrDb).toBeCloseTo(20, 4);
    expect([scaled?.accuracy.cosineMin, scaled?.accuracy.top1]).toEqual([expect.closeTo(1, 6), { same: 64, of: 64 }]);
    const [negated] = (await compared(model('identity'), model('negated'))).comparisons;
    expect(negated?.accuracy.sqnrDb).toBeCloseTo(-10 * Math.log10(4), 9);
    expect(negated?.accuracy.cosineMean).toBeCloseTo(-1, 9);
    expect(negated?.accuracy.top1).toEqual({ same: 0, of: 64 });
    // The same model is equal, and not infinitely good.
    expect((await accuracy(model('identity'), model('identity'))).stdout).toMatch(/identity +equal +1\.00000/);
  });

  test('an FP8 ViT runs: the level of optimisation is one at which onnxruntime takes it', async () => {
    const args = [model('vit_tiny'), model('vit_tiny_fp8'), '--samples', '64'];
    const [first] = (await compared(...args)).comparisons;
    expect(first?.accuracy.sqnrDb).toBeCloseTo(19, 0);
    const [again] = (await compared(...args)).comparisons;
    expect(again).toEqual(first);
    const [other] = (await compared(...args, '--seed', '2')).comparisons;
    expect(other?.accuracy.sqnrDb).not.toBe(first?.accuracy.sqnrDb);
    const [uniform] = (await compared(...args, '--distribution', 'uniform')).comparisons;
    expect(uniform?.inputs).toMatchObject({ kind: 'random', distribution: 'uniform' });
    expect(uniform?.accuracy.sqnrDb).not.toBe(first?.accuracy.sqnrDb);
  });

  test('batches: none is lost, a fixed one is kept, and an open dimension can be stated', async () => {
    const args = [model('identity'), model('scaled'), '--samples', '7'];
    for (const batch of ['1', '3', '64']) {
      const [row] = (await compared(...args, '--batch', batch)).comparisons;
      expect([row?.accuracy.samples, row?.accuracy.top1?.of]).toEqual([7, 7]);
    }
    const fixed = [model('batch-of-3'), model('scaled'), '--samples', '7'];
    expect((await compared(...fixed)).comparisons[0]?.accuracy.samples).toBe(9);
    const open = [model('open-width'), model('open-width'), '--shapes', 'x:1x6', '--samples', '4'];
    expect((await compared(...open)).comparisons[0]?.accuracy.samples).toBe(4);
  });

  test.each([
    [['integers', 'integers'], 'input x is tensor(int64): random values mean nothing there'],
    [['open-width', 'open-width'], 'input x has a dynamic dimension 1: state it, --shapes x:1x'],
    [['identity', 'root'], 'output y of the variant has'],
    [['identity', 'vit_tiny'], 'the inputs of the two models differ'],
  ])('%j: one line, exit code 2', async (names, problem) => {
    expect(await accuracy(...names.map(model))).toEqual(refusal(problem));
  });

  test("the user's own metric: a command for each file, its last word the number", async () => {
    const script = `console.log('loading\\ntop-1', process.argv[1].includes('scaled') ? 0.75 : 0.76)`;
    const words = ['--', process.execPath, '-e', script, '{model}'];
    const pair = [model('identity'), model('scaled')];
    expect(await accuracy(...pair, ...words)).toMatchObject({ stdout: expect.stringContaining('0.7600 → 0.7500') });
    const wrong = await accuracy(...pair, '--', process.execPath, '-e', '"{model}"');
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('printed no number') });
  });

  describe('a matrix, night after night', () => {
    function matrixIn(folder: string, variant: string): string {
      mkdirSync(folder, { recursive: true });
      const path = join(folder, 'tiny.yaml');
      writeFileSync(
        path,
        `name: tiny
models:
  net:
    shapes: {x: [batch, 4]}
    precisions: {fp32: {onnx: ${model('identity')}}, fp16: {onnx: ${model('scaled')}}, fp8: {onnx: ${variant}}}
axes: {precision: [fp32, fp16, fp8], batch: [1, 8]}
build: {opt: {batch: 8}}
`,
      );
      return path;
    }

    test('each precision once, against FP32; a fall since the last time is a regression', async () => {
      const { folder, db } = temporaryStore();
      const good = await compared(matrixIn(folder, model('scaled')), '--db', db);
      const about = { referencePrecision: 'fp32', stored: true, before: null };
      const expected = ['fp16', 'fp8'].map((precision) => ({ precision, ...about }));
      expect(good).toMatchObject({ code: 0, comparisons: expected });
      const matrix = matrixIn(folder, model('negated'));
      const { code, stdout } = await accuracy(matrix, '--db', db);
      expect(code).toBe(1);
      expect(stdout).toContain('net fp8: accuracy fell from 20.0 dB to -6.0 dB');
      expect(stdout).not.toContain('net fp16: accuracy');
      expect(queryStore(db, 'SELECT count(*) AS n FROM accuracy')).toEqual([{ n: 4 }]);
      // What was worse yesterday is no news today, and another set of inputs is another history.
      expect((await accuracy(matrix, '--db', db)).code).toBe(0);
      expect((await accuracy(matrix, '--db', db, '--seed', '3')).code).toBe(0);
    }, 30_000);

    test('what cannot be compared is named, and the exit code says that it is not all', async () => {
      const folder = temporaryFolder();
      const matrix = matrixIn(folder, join(folder, 'none.onnx'));
      const { code, stdout } = await accuracy(matrix, '--db', join(folder, 'b.sqlite'));
      expect(code).toBe(4);
      expect(stdout).toMatch(/net fp8: .*none\.onnx: file not found/);
      expect(stdout).toMatch(/net +fp16 +fp32 +20\.0 dB/);
    });

    test('an import shows the accuracy of its model and precision', async () => {
      const db = join(temporaryFolder(), 'bench.sqlite');
      const log = join(ROOT, 'test', 'fixtures', 'guide', 'listing-11-fp8-summary.log');
      const stated = ['--model', 'net', '--precision', 'fp8', '--shapes', 'x:128x4'];
      await bench(['import', log, '--sweep', 's', ...stated, '--db', db]);
      const pareto = ['choose', '--at', 's', '--db', db];
      expect((await bench(pareto)).stdout).toContain('accuracy not checked: net fp8');
      expect((await accuracy(model('identity'), model('scaled'), ...stated.slice(0, 4), '--db', db)).code).toBe(0);
      expect((await bench(pareto)).stdout).toMatch(/net +fp8 .*20\.0 dB/);
    });
  });
});

describe('without onnxruntime', () => {
  test.skipIf(TEST_PYTHON === null)(
    'what two engines exported: a recorded output beside one that is a tenth larger',
    async () => {
      const folder = temporaryFolder();
      const [reference, variant] = [join(folder, 'a.json'), join(folder, 'b.json')];
      const recorded = readFixture('formats/export-output/output.json.br').toString();
      const [output] = JSON.parse(recorded);
      const values = output.values.map((value: number) => value * 1.1);
      writeFileSync(reference, recorded);
      writeFileSync(variant, JSON.stringify([{ ...output, values }]));
      const [row] = (await compared(reference, variant)).comparisons;
      expect(row?.accuracy.sqnrDb).toBeCloseTo(20, 9);
      expect([row?.accuracy.cosineMin, row?.inputs]).toEqual([expect.closeTo(1, 9), { kind: 'exported' }]);
      expect((await accuracy(reference, reference)).stdout).toContain('equal');
      writeFileSync(variant, JSON.stringify([{ ...output, name: 'other', values }]));
      expect((await accuracy(reference, variant)).stderr).toContain('the two have different outputs');
      writeFileSync(variant, recorded.replace(/-?\d+\.\d+/, 'nan'));
      const stderr = expect.stringContaining('b.json: not a file of trtexec --exportOutput');
      expect(await accuracy(reference, variant)).toMatchObject({ code: 2, stdout: '', stderr });
    },
  );

  test('no Python: exit code 3 and what to do', async () => {
    const args = [model('identity'), model('scaled'), '--python', '/nowhere/python3'];
    const text = '/nowhere/python3: program not found; name a Python with numpy and onnxruntime';
    expect(await accuracy(...args)).toEqual(refusal(text, 3));
  });

  test.each([
    [[model('identity')], 'give a matrix, or two files'],
    [[model('identity'), 'none.onnx'], 'none.onnx: file not found'],
    [[model('identity'), model('scaled'), '--model', 'net'], 'name both: --model and --precision'],
    [[model('identity'), model('scaled'), '--', 'python3', 'eval.py'], 'the metric command needs {model}'],
    [[join(ROOT, 'matrices', 'quickstart-pair.yaml')], 'nothing to compare'],
  ])('wrong use: %j', async (args, problem) => expect(await accuracy(...args)).toEqual(refusal(problem)));
});

describe('its figures', () => {
  const RANDOM: AccuracyInputs = { kind: 'random', seed: 1, distribution: 'normal', shapes: {} };

  function record(sqnrDb: number | null, changes: Partial<AccuracyRecord> = {}): AccuracyRecord {
    return {
      accuracyId: '0'.repeat(32),
      sweepId: null,
      model: 'vit',
      precision: 'fp8',
      precisionVia: 'onnx',
      referenceSha256: 'a',
      variantSha256: 'b',
      inputs: RANDOM,
      accuracy: accuracyOf(sqnrDb),
      versions: {},
      provenance: 'measured',
      measuredAt: '2026-11-20T02:00:00.000Z',
      ...changes,
    };
  }

  test('of several outputs each figure is that of the worst', () => {
    const cosines = { cosineMin: 0.99, cosineMean: 0.999 };
    const good = { sqnrDb: 40, relativeError: 0.01, ...cosines, maxAbsError: 3, top1: { same: 60, of: 64 } };
    const bad = { ...good, sqnrDb: 20, relativeError: 0.1, maxAbsError: 1, top1: { same: 1, of: 2 } };
    const equal = { ...good, sqnrDb: null, relativeError: 0, top1: null };
    expect(worstOutput([good, bad, equal], 64, null)).toEqual({ ...bad, maxAbsError: 3, samples: 64, custom: null });
    expect(worstOutput([equal], 64, null).sqnrDb).toBeNull();
  });

  test.each([
    [30, 28.9, 1.1, true],
    [30, 29, 1, false],
    [28, 30, -2, false],
    [null, 60, Infinity, true],
    [60, null, -Infinity, false],
    [null, null, 0, false],
  ])('from %j to %j dB', (was, is, dropDb, isRegression) => {
    const drop = accuracyDrop(record(is), record(was), 1);
    expect(drop?.dropDb).toBeCloseTo(dropDb, 9);
    expect([drop?.isRegression, accuracyDrop(record(is), null, 1)]).toEqual([isRegression, null]);
  });

  test('a history is of one model, precision and set of inputs, whatever the files', () => {
    const one = record(30);
    expect(sameAccuracyHistory(one, record(20, { variantSha256: 'c', referenceSha256: 'd' }))).toBe(true);
    const others: Partial<AccuracyRecord>[] = [
      { model: 'resnet' },
      { precision: 'int8' },
      { inputs: { ...RANDOM, seed: 2 } },
      { inputs: { ...RANDOM, distribution: 'uniform' } },
      { inputs: { kind: 'file', sha256: 'e' } },
      { accuracy: { ...accuracyOf(30), samples: 16 } },
    ];
    for (const other of others) expect(sameAccuracyHistory(one, record(30, other))).toBe(false);
  });

  /** Of two outputs of engines, by `python/compare_outputs.py`. */
  function compareValues(reference: readonly number[], variant: readonly number[], dimensions: string) {
    const folder = temporaryFolder();
    const path = join(folder, 'job.json');
    const exported = [reference, variant].map((values, side) => {
      writeFileSync(join(folder, `${side}.json`), JSON.stringify([{ name: 'y', dimensions, values }]));
      return join(folder, `${side}.json`);
    });
    writeFileSync(path, JSON.stringify({ exported }));
    const printed = execFileSync(TEST_PYTHON ?? '', ['python/compare_outputs.py', path], { encoding: 'utf8' });
    const answer = JSON.parse(printed);
    return answer.problem ?? answer.outputs.y;
  }

  describe.skipIf(TEST_PYTHON === null)(`figures (${NEEDS_PYTHON})`, () => {
    test('worked out by hand', () => {
      expect(compareValues([3, 4, 0, 2], [4, 3, 0, 2], '2x2')).toEqual({
        sqnrDb: expect.closeTo(10 * Math.log10(29 / 2), 9),
        relativeError: expect.closeTo(Math.sqrt(2 / 29), 12),
        cosineMin: 24 / 25,
        cosineMean: (24 / 25 + 1) / 2,
        maxAbsError: 1,
        top1: { same: 1, of: 2 },
      });
    });

    test('equal, zero, and outputs that are no classes', () => {
      expect(compareValues([1, 2], [1, 2], '2')).toMatchObject({ sqnrDb: null, top1: null });
      expect(compareValues([0, 0], [0, 0], '1x2')).toMatchObject({ sqnrDb: null, cosineMin: 1 });
      const problem = 'output y of the reference is zero everywhere: there is no signal to compare with';
      expect(compareValues([0, 0], [0, 1], '1x2')).toBe(problem);
    });
  });

  /** Printed by onnxruntime 1.24.4 for a ViT in FP8 against FP32, 64 samples. */
  const PRINTED =
    '{"samples": 64, "outputs": {"output": {"sqnrDb": 19.064877499912726, "relativeError": 0.11136689850276286, "cosineMin": 0.9703825138665421, "cosineMean": 0.9936408160976306, "maxAbsError": 0.42001140117645264, "top1": {"same": 57, "of": 64}}}, "versions": {"python": "3.11.7", "numpy": "2.4.6", "onnxruntime": "1.24.4"}}\n';

  test('an answer, also behind what a library printed', () => {
    const reading = readAnswer(`a warning of a library\n${PRINTED}`, COMPARISON);
    if ('problem' in reading) throw new Error(reading.problem);
    expect([reading.value.samples, reading.value.versions['onnxruntime']]).toEqual([64, '1.24.4']);
    expect(reading.value.outputs['output']?.top1).toEqual({ same: 57, of: 64 });
  });

  test('a problem is its own line; what is no answer is one as well', () => {
    const lacking = { problem: 'no numpy', isLacking: true };
    expect(readAnswer(JSON.stringify(lacking), COMPARISON)).toEqual(lacking);
    for (const text of ['', 'Killed', '{}', '{"samples": 0}', PRINTED.replace('0.42', '-0.42')]) {
      expect(readAnswer(text, COMPARISON)).toMatchObject({ problem: expect.any(String), isLacking: false });
    }
  });
});
