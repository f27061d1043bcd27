import { expect, test } from 'vitest';

import { parseExplorerMetadata } from '../../../src/trtexec/exports/layer-info.ts';

test('what trt-engine-explorer took out of the log', () => {
  const text = JSON.stringify({
    inference_options: {
      'Input inference shape': 'input.1=32x3x224x224',
      Streams: '2',
      'Data transfers': 'Disabled',
      'Spin-wait': 'Enabled',
      'CUDA Graph': 'Enabled',
    },
    device_information: { 'Selected Device': 'NVIDIA A100 80GB PCIe' },
  });
  expect(parseExplorerMetadata(text)).toEqual({
    shapes: { 'input.1': [32, 3, 224, 224] },
    cudaGraph: true,
    dataTransfers: false,
    spinWait: true,
    streams: 2,
    gpuName: 'NVIDIA A100 80GB PCIe',
  });
});
