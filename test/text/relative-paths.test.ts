import { describe, expect, test } from 'vitest';

import { RelativePaths } from '../../src/text/relative-paths.ts';

describe('absolute paths get other names, the same for the same', () => {
  test.each([
    ['--onnx=/data/acme/net.onnx', '--onnx=folder-1/net.onnx'],
    ['[I] Model: /data/acme/net.onnx, /data/acme/b.onnx', '[I] Model: folder-1/net.onnx, folder-1/b.onnx'],
    ['/opt/acme/lib:/usr/lib:/opt/acme/lib', 'folder-1:folder-2:folder-1'],
    ['/data/acme.v2', 'folder-1'],
    ['cannot open "/data/acme/libx.so.10.6"', 'cannot open "folder-1/libx.so.10.6"'],
    [String.raw`--onnx=C:\acme\net.onnx`, '--onnx=folder-1/net.onnx'],
    ['~/acme/net.onnx', 'folder-1/net.onnx'],
    ['input->/data/in.bin', 'input->folder-1/in.bin'],
    ['https://acme.example/x', 'https:folder-1'],
  ])('%s', (text, expected) => {
    expect(new RelativePaths(null).text(text)).toBe(expected);
  });

  test.each(['models/net.onnx', '12 queries/s, 1/2', 'n/a', 'a / b', '&&&& PASSED # trtexec', '../net.onnx'])(
    '%s stays',
    (text) => {
      expect(new RelativePaths(null).text(text)).toBe(text);
    },
  );

  test('with spaces, where values say where a path ends', () => {
    const known = { argv: ['trtexec', '--onnx=/data/acme corp/net.onnx'], env: { LD_PRELOAD: '/a b/x.so:/c d/y.so' } };
    const paths = new RelativePaths(known);
    expect(paths.text('# trtexec --onnx=/data/acme corp/net.onnx --fp16')).toBe(
      '# trtexec --onnx=folder-1/net.onnx --fp16',
    );
    expect(paths.copy(known)).toEqual({
      argv: ['trtexec', '--onnx=folder-1/net.onnx'],
      env: { LD_PRELOAD: 'folder-2/x.so:folder-3/y.so' },
    });
    expect(known.argv[1]).toBe('--onnx=/data/acme corp/net.onnx');
  });
});
