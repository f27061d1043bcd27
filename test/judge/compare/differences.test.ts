import { describe, expect, test } from 'vitest';

import { environmentDifferences, machineKey } from '../../../src/judge/compare/differences.ts';
import { type Environment, UNKNOWN_ENVIRONMENT } from '../../../src/records/environment.ts';

const H200: Environment = {
  ...UNKNOWN_ENVIRONMENT,
  gpuName: 'NVIDIA H200',
  driver: '580.159.04',
  tensorrt: '10.6.0',
  tensorrtLibrary: '10.6.0.26',
  clockPolicy: 'floating',
  powerLimitW: 700,
  ecc: 'on',
  mig: 'off',
  persistence: 'on',
};

describe('what of the machine is another', () => {
  test.each<[Partial<Environment>, string[]]>([
    [{}, []],
    [{ clockPolicy: 'locked 1590 MHz' }, ['clocks floating → locked 1590 MHz']],
    [{ powerLimitW: 600 }, ['power limit 700 W → 600 W']],
    [{ ecc: 'off', mig: 'on' }, ['ECC on → off', 'MIG off → on']],
    [{ persistence: 'off' }, ['persistence mode on → off']],
    [{ tensorrtLibrary: '10.6.0.99' }, ['TensorRT library 10.6.0.26 → 10.6.0.99']],
    [{ driver: '570.1', container: 'a:1' }, ['driver 580.159.04 → 570.1']],
    [{ powerLimitW: null, ecc: null, clockPolicy: null }, []],
  ])('%j', (change, expected) => {
    expect(environmentDifferences(H200, { ...H200, ...change })).toEqual(expected);
  });

  test('another history begins with another GPU, TensorRT major or lock, not with another driver', () => {
    const key = machineKey(H200);
    const changed = (change: Partial<Environment>): boolean => machineKey({ ...H200, ...change }) !== key;
    expect([
      changed({ driver: '570.1', powerLimitW: 600 }),
      changed({ tensorrt: '10.9.0' }),
      changed({ clockPolicy: null }),
      changed({ clockPolicy: 'locked base' }),
      changed({ tensorrt: '11.0.0' }),
      changed({ gpuName: 'NVIDIA H100' }),
    ]).toEqual([false, false, false, true, true, true]);
  });
});
