import { expect, test } from 'vitest';

import { COMPARISON, readMetric } from '../../../src/features/model/compare-pair.ts';
import { readAnswer } from '../../../src/tools/python/helper.ts';

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
  expect(readAnswer('{"problem": "no numpy", "isLacking": true}', COMPARISON)).toEqual({
    problem: 'no numpy',
    isLacking: true,
  });
  for (const text of ['', 'Killed', '{}', '{"samples": 0}', PRINTED.replace('0.42', '-0.42')]) {
    expect(readAnswer(text, COMPARISON)).toMatchObject({ problem: expect.any(String), isLacking: false });
  }
});

test('a metric is the last word', () => {
  expect([readMetric('loading …\ntop-1: 0.7613\n'), readMetric('-2e-3')]).toEqual([0.7613, -0.002]);
  for (const text of ['', '\n', 'nan', '0.5 %', 'Infinity']) expect(readMetric(text)).toBeNull();
});
