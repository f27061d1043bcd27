import { expect, test } from 'vitest';

import { tritonConfig, type TritonModel, tritonUnknowns } from '../../../src/features/export/triton-config.ts';

const MODEL: TritonModel = {
  label: 'bert fp16',
  runId: '1a2b3c4d',
  provenance: 'measured',
  throughputQps: 1234.5678,
  gpuName: 'NVIDIA H200',
  tensorrt: '10.6.0',
  source: 'as the engine lists them',
  inputs: [
    { name: 'ids', type: 'int64', shape: [-1, 128] },
    { name: 'mask', type: 'bool', shape: [-1, 128, -1] },
  ],
  outputs: [{ name: 'logits', type: 'fp16', shape: [-1, 2] }],
  maxBatch: 32,
  cudaGraph: false,
  streams: 2,
};

function body(model: TritonModel): string[] {
  return tritonConfig(model)
    .split('\n')
    .filter((line) => !line.startsWith('#') && line !== '');
}

test('types, dims without the batch, one instance for each stream', () => {
  expect(body(MODEL)).toEqual([
    'platform: "tensorrt_plan"',
    'max_batch_size: 32',
    'input [',
    '  { name: "ids", data_type: TYPE_INT64, dims: [ 128 ] },',
    '  { name: "mask", data_type: TYPE_BOOL, dims: [ 128, -1 ] }',
    ']',
    'output [',
    '  { name: "logits", data_type: TYPE_FP16, dims: [ 2 ] }',
    ']',
    'instance_group [ { count: 2, kind: KIND_GPU } ]',
  ]);
  expect(tritonUnknowns(MODEL)).toEqual([]);
});

test('without a batch the dims are whole; what is not known is left out and said', () => {
  const outputs = [{ name: 'y', type: 'fp8', shape: [1, 2] }];
  const model = { ...MODEL, maxBatch: null, outputs, streams: 1, cudaGraph: true };
  expect(body(model)).toEqual([
    'platform: "tensorrt_plan"',
    'max_batch_size: 0',
    'input [',
    '  { name: "ids", data_type: TYPE_INT64, dims: [ -1, 128 ] },',
    '  { name: "mask", data_type: TYPE_BOOL, dims: [ -1, 128, -1 ] }',
    ']',
    'optimization { cuda { graphs: true } }',
  ]);
  expect(tritonUnknowns(model)).toEqual([
    'type or shape of "y" is not known to bench or has no name in Triton: left out, Triton reads it from the engine',
    'the leading dimension is fixed, not shared or not known: max_batch_size is 0, dims are whole',
  ]);
});

test('names stay inside their quotes', () => {
  const evil = 'a" } ] platform: "x\\\n\u001b\u202eü';
  const text = tritonConfig({ ...MODEL, label: evil, inputs: [{ name: evil, type: 'fp32', shape: [-1, 3] }] });
  expect(text).toContain(
    String.raw`{ name: "a\" } ] platform: \"x\\\012\033\342\200\256ü", data_type: TYPE_FP32, dims: [ 3 ] }`,
  );
  expect(text.split('\n').filter((line) => line.startsWith('platform'))).toHaveLength(1);
});
