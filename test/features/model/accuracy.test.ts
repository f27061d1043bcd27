import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { COMPARISON, readMetric, worstOutput } from '../../../src/features/model/compare-pair.ts';
import {
  type AccuracyInputs,
  type AccuracyRecord,
  accuracyDrop,
  sameAccuracyHistory,
} from '../../../src/records/accuracy.ts';
import { readAnswer } from '../../../src/tools/python/helper.ts';
import { temporaryFolder } from '../../support/bench.ts';
import { NEEDS_PYTHON, TEST_PYTHON } from '../../support/python.ts';
import { accuracyOf } from '../../support/deployments.ts';

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
  const worst = { ...bad, maxAbsError: 3, samples: 64, custom: null };
  expect(worstOutput([good, bad, equal], 64, null)).toEqual(worst);
  expect(worstOutput([equal], 64, null)?.sqnrDb).toBeNull();
  expect(worstOutput([], 64, null)).toBeNull();
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
  expect(drop?.isRegression).toBe(isRegression);
  expect(accuracyDrop(record(is), null, 1)).toBeNull();
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
function compareValues(
  reference: readonly number[],
  variant: readonly number[],
  dimensions: readonly number[],
): unknown {
  const path = join(temporaryFolder(), 'job.json');
  const exported = [reference, variant].map((values) => [{ name: 'y', dimensions, values }]);
  writeFileSync(path, JSON.stringify({ exported }));
  const printed = execFileSync(TEST_PYTHON ?? '', ['python/compare_outputs.py', path], { encoding: 'utf8' });
  const answer = JSON.parse(printed);
  return answer.problem ?? answer.outputs.y;
}

describe.skipIf(TEST_PYTHON === null)(`figures (${NEEDS_PYTHON})`, () => {
  test('worked out by hand', () => {
    expect(compareValues([3, 4, 0, 2], [4, 3, 0, 2], [2, 2])).toEqual({
      sqnrDb: expect.closeTo(10 * Math.log10(29 / 2), 9),
      relativeError: expect.closeTo(Math.sqrt(2 / 29), 12),
      cosineMin: 24 / 25,
      cosineMean: (24 / 25 + 1) / 2,
      maxAbsError: 1,
      top1: { same: 1, of: 2 },
    });
  });

  test('equal, zero, and outputs that are no classes', () => {
    expect(compareValues([1, 2], [1, 2], [2])).toMatchObject({ sqnrDb: null, top1: null });
    expect(compareValues([0, 0], [0, 0], [1, 2])).toMatchObject({ sqnrDb: null, cosineMin: 1 });
    const problem = 'output y of the reference is zero everywhere: there is no signal to compare with';
    expect(compareValues([0, 0], [0, 1], [1, 2])).toBe(problem);
  });
});

/** Printed by onnxruntime 1.24.4 for a ViT in FP8 against FP32, 64 samples. */
const PRINTED =
  '{"samples": 64, "outputs": {"output": {"sqnrDb": 19.064877499912726, "relativeError": 0.11136689850276286, "cosineMin": 0.9703825138665421, "cosineMean": 0.9936408160976306, "maxAbsError": 0.42001140117645264, "top1": {"same": 57, "of": 64}}}, "versions": {"python": "3.11.7", "numpy": "2.4.6", "onnxruntime": "1.24.4"}}\n';

test('an answer, also behind what a library printed', () => {
  for (const text of [PRINTED, `a warning of a library\n${PRINTED}`]) {
    const reading = readAnswer(text, COMPARISON);
    if ('problem' in reading) throw new Error(reading.problem);
    expect(reading.value.samples).toBe(64);
    expect(reading.value.versions['onnxruntime']).toBe('1.24.4');
    const output = reading.value.outputs['output'];
    expect(output?.top1).toEqual({ same: 57, of: 64 });
    expect(output?.sqnrDb).toBeCloseTo(-20 * Math.log10(output?.relativeError ?? 0), 9);
  }
});

test('a problem is its own line; what is no answer is one as well', () => {
  const lacking = { problem: 'no numpy', isLacking: true };
  expect(readAnswer(JSON.stringify(lacking), COMPARISON)).toEqual(lacking);
  for (const text of ['', 'Killed', '{}', '{"samples": 0}', PRINTED.replace('0.42', '-0.42')]) {
    expect(readAnswer(text, COMPARISON)).toMatchObject({ problem: expect.any(String), isLacking: false });
  }
});

test('a metric is the last word', () => {
  expect([readMetric('loading …\ntop-1: 0.7613\n'), readMetric('-2e-3')]).toEqual([0.7613, -0.002]);
  for (const text of ['', '\n', 'nan', '0.5 %', 'Infinity']) expect(readMetric(text)).toBeNull();
});
