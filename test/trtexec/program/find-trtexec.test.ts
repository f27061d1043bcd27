import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { findTrtexec } from '../../../src/trtexec/program/find-trtexec.ts';
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
    const { code, stderr } = await bench(['run', stubMatrix(folder)], {
      cwd: folder,
      env: { PATH: '/nowhere', TRTEXEC: undefined },
    });
    expect(code).toBe(3);
    expect(stderr).toContain('/usr/src/tensorrt/bin/trtexec');
    expect(stderr).toContain('--replay night1');
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  test('a program that is no trtexec', async () => {
    const folder = temporaryFolder();
    const { code, stderr } = await bench(['run', stubMatrix(folder), '--trtexec', '/bin/true'], { cwd: folder });
    expect([code, stderr]).toEqual([3, expect.stringContaining('is it trtexec?')]);
  });

  test('one that is too old or too new', async () => {
    const folder = temporaryFolder();
    for (const [version, text] of [
      ['8203', 'trtexec 8.2.3 is too old'],
      ['120000', 'newer than this bench knows'],
    ]) {
      const { code, stderr } = await bench(['run', stubMatrix(folder), '--trtexec', STUB], {
        cwd: folder,
        env: { STUB_VERSION: version },
      });
      expect([code, stderr]).toEqual([3, expect.stringContaining(text ?? '')]);
    }
  });
});
