import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { chooseClocks, readClockRequest } from '../../src/machine/requests.ts';
import { parseSupportedClocks } from '../../src/machine/clock-lock.ts';
import { ROOT } from '../support/bench.ts';

describe('what a clock request comes to', () => {
  const supported = { memoryMhz: [3201], graphicsMhz: [1980, 1965, 1605, 1590, 345] };

  test.each([
    ['base', 'base'],
    ['max', 'max'],
    ['1590', 1590],
    ['1590MHz', 1590],
    ['0', null],
    ['1590,1590', null],
    ['', null],
  ])('%j', (text, request) => {
    expect(readClockRequest(text)).toBe(request);
  });

  test.each([
    ['base', { bounds: 'tdp,tdp', limitMhz: null, memoryMhz: 3201, policy: 'locked base' }],
    ['max', { bounds: '1980,1980', limitMhz: 1980, memoryMhz: 3201, policy: 'locked 1980 MHz' }],
    [1590, { bounds: '1590,1590', limitMhz: 1590, memoryMhz: 3201, policy: 'locked 1590 MHz' }],
  ] as const)('%s', (request, clocks) => {
    expect(chooseClocks(request, supported, 'GPU 0')).toEqual(clocks);
  });

  test.each([
    [1600, '1605 and 1590'],
    [2000, '1980'],
    [100, '345'],
  ])('%i MHz is none: the nearest are said', (mhz, nearest) => {
    expect(() => chooseClocks(mhz, supported, 'GPU 0')).toThrow(
      `clocks of GPU 0: ${mhz} MHz is none of its clocks: the nearest are ${nearest} MHz (it has 345 to 1980 MHz)`,
    );
  });

  test('without a list only base can be asked for', () => {
    const none = { memoryMhz: [], graphicsMhz: [] };
    expect(() => chooseClocks('max', none, 'GPU 0')).toThrow('cannot be checked');
    expect(() => chooseClocks(1590, none, 'GPU 0')).toThrow('cannot be checked');
    expect(chooseClocks('base', none, 'GPU 0')).toMatchObject({ memoryMhz: null });
  });

  test('the list of an H200, and of a board with two memory clocks', () => {
    const path = join(ROOT, 'test', 'fixtures', 'nvidia-smi', 'supported-clocks-h200.csv');
    const h200 = parseSupportedClocks(readFileSync(path, 'utf8'));
    expect(h200.memoryMhz).toEqual([3201, 2201]);
    expect(h200.graphicsMhz).toHaveLength(110);
    expect([h200.graphicsMhz[0], h200.graphicsMhz[1], h200.graphicsMhz.at(-1)]).toEqual([1980, 1965, 345]);
    expect(parseSupportedClocks('405, 300\n5001, 1590\n5001, 300\n')).toEqual({
      memoryMhz: [5001, 405],
      graphicsMhz: [1590, 300],
    });
    expect(parseSupportedClocks('[N/A], [N/A]\n')).toEqual({ memoryMhz: [], graphicsMhz: [] });
  });
});
