import { Readable } from 'node:stream';

import { expect, test } from 'vitest';

import { ownLines } from '../../../src/trtexec/log/trtexec-log.ts';

const START = '&&&& RUNNING TensorRT.trtexec [TensorRT v100600] [b26] # trtexec --onnx=net.onnx';

test('of a log trtexec is kept, without verbose lines and what other programs print', async () => {
  const lines = [
    'MYCRED=hunter2',
    START,
    '[11/21/2026-02:00:00] [I] === Model Options ===',
    '[11/21/2026-02:00:00] [V] [TRT] Parsing node: /encoder/Conv [Conv]',
    'export TOKEN=abc [11/21/2026-02:00:01] [W] [TRT] No implementation',
    'trtexec: error while loading shared libraries: libnvinfer.so.10: cannot open shared object file',
    '  "user": "alice",',
  ];
  const log = Readable.from([Buffer.from(lines.slice(0, 3).join('\n')), Buffer.from(`\n${lines.slice(3).join('\n')}`)]);
  expect(await ownLines(log, 'stdout')).toEqual({
    texts: [
      START,
      '[11/21/2026-02:00:00] [I] === Model Options ===',
      '[11/21/2026-02:00:01] [W] [TRT] No implementation',
      'trtexec: error while loading shared libraries: libnvinfer.so.10: cannot open shared object file',
    ],
    others: 3,
  });
});
