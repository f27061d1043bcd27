import { describe, expect, test } from 'vitest';

import { meaningOf } from '../../../src/trtexec/replay/recording-set.ts';

const RUN = ['--loadEngine=/a/vit.plan', '--shapes=input:8x3x224x224', '--useSpinWait'];

describe('a command line by its meaning', () => {
  test('paths, order, warm-up, duration and percentiles do not matter', () => {
    const one = meaningOf([...RUN, '--useCudaGraph', '--warmUp=200', '--percentile=50,99']);
    const other = meaningOf([
      '--useCudaGraph',
      '--duration=30',
      '--useSpinWait',
      '--exportTimes=/elsewhere/t.json',
      '--shapes=input:8x3x224x224',
      '--infStreams=1',
      '--loadEngine=/b/other name.plan',
    ]);
    expect(other).toEqual(one);
  });

  test.each([
    ['--noDataTransfers', { dataTransfers: false }],
    ['--useCudaGraph', { cudaGraph: true }],
    ['--infStreams=2', { streams: 2 }],
    ['--exportProfile=p.json', { kind: 'profile' }],
    ['--useManagedMemory', { flags: ['--useManagedMemory'] }],
  ])('%s does', (flag, expected) => expect(meaningOf([...RUN, flag])).toMatchObject(expected));

  test('a build is told by its model and all that decides the engine', () => {
    expect(
      meaningOf(['--onnx=/x/vit.onnx', '--stronglyTyped', '--optShapes=i:8', '--saveEngine=/tmp/e', '--skipInference']),
    ).toEqual({
      kind: 'build',
      onnx: 'vit.onnx',
      minShapes: '',
      optShapes: 'i:8',
      maxShapes: '',
      flags: ['--stronglyTyped'],
    });
  });
});
