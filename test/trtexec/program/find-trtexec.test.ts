import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { findTrtexec, mayLoad } from '../../../src/trtexec/program/find-trtexec.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';

function program(folder: string, name: string): string {
  const path = join(folder, name);
  writeFileSync(path, '#!/bin/sh\n');
  chmodSync(path, 0o755);
  return path;
}

describe('which trtexec', () => {
  const folder = (): string => temporaryFolder();

  test('the flag before the matrix, before $TRTEXEC, before PATH', () => {
    const cwd = folder();
    const flag = program(cwd, 'one');
    const matrix = program(cwd, 'two');
    const variable = program(cwd, 'three');
    const bin = join(cwd, 'bin');
    mkdirSync(bin);
    const onPath = program(bin, 'trtexec');
    const env = { TRTEXEC: variable, PATH: `/nowhere:${bin}` };
    expect(findTrtexec({ flag: './one', matrix, env, cwd })).toBe(flag);
    expect(findTrtexec({ flag: undefined, matrix, env, cwd })).toBe(matrix);
    expect(findTrtexec({ flag: undefined, matrix: null, env, cwd })).toBe(variable);
    expect(findTrtexec({ flag: undefined, matrix: null, env: { PATH: bin }, cwd })).toBe(onPath);
  });

  test('one that was named and cannot be executed is an error, not a reason to look elsewhere', () => {
    const cwd = folder();
    writeFileSync(join(cwd, 'text'), '');
    expect(() => findTrtexec({ flag: 'text', matrix: null, env: {}, cwd })).toThrow('--trtexec: ');
    expect(() => findTrtexec({ flag: undefined, matrix: null, env: { TRTEXEC: cwd }, cwd })).toThrow('$TRTEXEC: ');
  });
});

describe('bench run without a usable trtexec ends with 3', () => {
  test('none anywhere: every place that was looked at', async () => {
    const folder = temporaryFolder();
    const env = { PATH: '/nowhere', TRTEXEC: undefined };
    const stderr = expect.stringMatching(/^.*\/usr\/src\/tensorrt\/bin\/trtexec.*--replay night1.*\n$/);
    expect(await bench(['run', stubMatrix(folder)], { cwd: folder, env })).toMatchObject({ code: 3, stderr });
  });

  test.each([
    ['/bin/true', '', 'is it trtexec?'],
    [STUB, '8203', 'trtexec 8.2.3 is too old'],
    [STUB, '120000', 'newer than this bench knows'],
  ])('%s %s: %s', async (trtexec, version, said) => {
    const folder = temporaryFolder();
    const args = ['run', stubMatrix(folder), '--trtexec', trtexec];
    const { code, stderr } = await bench(args, { cwd: folder, env: version === '' ? {} : { STUB_VERSION: version } });
    expect([code, stderr]).toEqual([3, expect.stringContaining(said)]);
  });
});

test.each([
  ['10.6.0.26', '10.6.0', true],
  ['10.6.0.26', '10', true],
  ['10.3.0.26', '10.6.0', true],
  ['10.7.0.23', '10.6.0', false],
  ['8.6.1.6', '10.6.0', false],
  ['11.0.0.1', '10.6.0', false],
])('an engine of %s under %s may load: %j', (built, running, expected) => {
  expect(mayLoad(built, running)).toBe(expected);
});
