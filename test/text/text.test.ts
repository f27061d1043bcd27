import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { commandLine } from '../../src/cli/options.ts';
import { jsonText, printable } from '../../src/text/printable.ts';
import { type PrivateNames, Redaction } from '../../src/text/redact.ts';
import { RelativePaths } from '../../src/text/relative-paths.ts';

// oxlint-disable-next-line no-control-regex -- what a terminal would act on
const RAW = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

test.each([
  ['plain', 'plain'],
  ['a\nb\tc\r', String.raw`a\nb\tc\r`],
  ['\u001b[31mred', String.raw`\u001b[31mred`],
  ['\u009b2J', String.raw`\u009b2J`],
  ['left\u202eright', String.raw`left\u202eright`],
  ['模型 😀', '模型 😀'],
])('%j', (text, expected) => expect(printable(text)).toBe(expected));

test('nothing that a terminal acts on is left, and twice is the same as once', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect([printable(text), printable(printable(text))]).toEqual([expect.not.stringMatching(RAW), printable(text)]);
    }),
  );
});

test('JSON says the same text, with nothing raw in it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const json = jsonText({ text });
      expect([json.replaceAll('\n', ''), JSON.parse(json)]).toEqual([expect.not.stringMatching(RAW), { text }]);
    }),
  );
});

test.each([
  ['make -j8 engines', ['make', '-j8', 'engines']],
  ["  sh -c 'cd x && make; echo $A'  ", ['sh', '-c', 'cd x && make; echo $A']],
  [String.raw`a "c 'd' \$e \n" f'g'"h"`, ['a', String.raw`c 'd' \$e \n`, 'fgh']],
  ["x ''", ['x', '']],
  ['echo a;b', ['echo', 'a;b']],
])('%s', (text, words) => expect(commandLine(text)).toEqual(words));

test.each([
  ['', 'is empty'],
  ['   ', 'is empty'],
  ["make 'x", 'has a quote that is not closed'],
  [String.raw`make a\ b`, 'or a backslash'],
  ['cd x && make', 'runs without a shell, which "&&" is for'],
  ['make | tee log', 'runs without a shell, which "|" is for'],
  ['cd x; make', 'runs without a shell, which "x;" is for'],
])('%s is refused', (text, problem) => expect(() => commandLine(text)).toThrow(problem));

const NOBODY: PrivateNames = { hosts: [], users: [], home: null };
const UUID = 'GPU-1a2b3c4d-0000-1111-2222-333344445555';
const OTHER_UUID = 'GPU-9a2b3c4d-0000-1111-2222-333344445555';

const redact = (text: string, names: Partial<PrivateNames> = {}): string =>
  new Redaction({ ...NOBODY, ...names }, text).text(text);

describe('text', () => {
  test('the same name is the same within one output, and another is another', () => {
    const line = 'host-1, host-2, host-1, node-12';
    expect(redact('node-1, node-2, NODE-1, node-12', { hosts: ['node-1', 'node-2'] })).toBe(line);
  });

  test('a host is known by its label, too; an address is not known by its first number', () => {
    const line = 'on host-1 = host-1';
    expect(redact('on gpu01.corp.example.com = gpu01', { hosts: ['gpu01.corp.example.com'] })).toBe(line);
    expect(redact('10 runs on 10.0.0.7, 10.0.0.8', { hosts: ['10.0.0.7', '10.0.0.8'] })).toBe(
      '10 runs on host-1, host-2',
    );
    const both = ['gpu01.corp', 'gpu01', 'gpu01.lab'];
    expect(redact('gpu01.corp gpu01.lab gpu01', { hosts: both })).toBe('host-1 host-2 host-1');
  });

  test('root is nobody', () => {
    expect(redact('needs root, /root/a, root@node-1', { users: ['root'], home: '/root', hosts: ['node-1'] })).toBe(
      'needs root, ~/a, root@host-1',
    );
  });

  test('GPUs and their MIG devices', () => {
    expect(redact(`${UUID} ${OTHER_UUID} ${UUID.toLowerCase()} MIG-${UUID}/7/0 GPU-accelerated`)).toBe(
      'GPU-redacted-1 GPU-redacted-2 GPU-redacted-1 GPU-redacted-3/7/0 GPU-accelerated',
    );
  });

  test('serial numbers, where they are called so', () => {
    expect(redact('Serial Number : 1650522003820, 1650522003820')).toBe('Serial Number : serial-1, 1650522003820');
    expect(redact('<serial>none')).toBe('<serial>none');
  });

  test('users, and homes of people whom nobody named', () => {
    const names = { users: ['alice'], home: '/home/alice' };
    const line = '~/m.onnx /home/user-1/x C:\\Users\\user-2\\y user-1/fix /rootfs';
    expect(redact('/home/alice/m.onnx /home/bob/x C:\\Users\\carol\\y bob/fix /rootfs', names)).toBe(line);
    expect(redact('/srv/ada/x /srv/adafs /mnt/ada', { users: ['ada'], home: '/srv/ada' })).toBe(
      '~/x /srv/adafs /mnt/user-1',
    );
  });

  test('names that a narrow terminal cut', () => {
    const names = { hosts: ['gpu-node-01.example'] };
    expect(redact('gpu-node-0… gpu-n… gp… GPU-1a2b…', names)).toBe('redacted… redacted… gp… redacted…');
  });

  test.each([
    ['a', 'a CPU of a, a_b, alpha', 'host-1 CPU of host-1, host-1_b, alpha'],
    ['.*', 'every .* is .*', 'every host-1 is host-1'],
    ['$&', 'cost $& $1', 'cost host-1 $1'],
    ['(', 'f(x)', 'fhost-1x)'],
    ['[a-z]+', 'abc [a-z]+', 'abc host-1'],
    ['ünï-😀', 'on ÜNÏ-😀!', 'on host-1!'],
    ['host-2', 'host-2 host-1', 'host-1 host-1'],
    [' ', 'a b', 'a b'],
  ])('a host called %j', (host, text, expected) => {
    // An opening bracket stands beside letters: there it is part of no word of its own.
    const expectedHere = host === '(' ? text : expected;
    expect(redact(text, { hosts: [host] })).toBe(expectedHere);
  });

  test('as it is printed: a name with an escape in it', () => {
    const host = 'node\u001b[31m';
    expect(redact(`on ${printable(host)}`, { hosts: [host] })).toBe('on host-1');
  });
});

describe('JSON', () => {
  const json = (value: unknown, names: Partial<PrivateNames>): unknown =>
    new Redaction({ ...NOBODY, ...names }, JSON.stringify(value)).json(value);

  test('values change, names of fields and words of this program do not', () => {
    const value = {
      role: 'build',
      host: 'build',
      samples: 5,
      list: [null, true, UUID],
      nested: { notes: ['made on build', 'build-2'] },
      serial: '0123',
    };
    expect(json(value, { hosts: ['build', 'role', 'samples'] })).toEqual({
      role: 'build',
      host: 'host-1',
      samples: 5,
      list: [null, true, 'GPU-redacted-1'],
      nested: { notes: ['made on host-1', 'host-1-2'] },
      serial: 'serial-1',
    });
  });
});

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
  ])('%s', (text, expected) => expect(new RelativePaths(null).text(text)).toBe(expected));

  test.each(['models/net.onnx', '12 queries/s, 1/2', 'n/a', 'a / b', '&&&& PASSED # trtexec', '../net.onnx'])(
    '%s stays',
    (text) => expect(new RelativePaths(null).text(text)).toBe(text),
  );

  test('with spaces, where values say where a path ends', () => {
    const known = { argv: ['trtexec', '--onnx=/data/acme corp/net.onnx'], env: { LD_PRELOAD: '/a b/x.so:/c d/y.so' } };
    const paths = new RelativePaths(known);
    const line = '# trtexec --onnx=folder-1/net.onnx --fp16';
    expect(paths.text('# trtexec --onnx=/data/acme corp/net.onnx --fp16')).toBe(line);
    const env = { LD_PRELOAD: 'folder-2/x.so:folder-3/y.so' };
    expect(paths.copy(known)).toEqual({ argv: ['trtexec', '--onnx=folder-1/net.onnx'], env });
    expect(known.argv[1]).toBe('--onnx=/data/acme corp/net.onnx');
  });
});
