import { describe, expect, test } from 'vitest';

import { devicesNamed, parseDeviceList, visibleDevices } from '../../../src/tools/nvidia-smi/device-list.ts';

/** As in NVIDIA's MIG user guide, one GPU divided in two, one whole. */
const LIST = `GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0)
  MIG 3g.20gb     Device  0: (UUID: MIG-c7384736-a75d-5afc-978f-d2f1294409fd)
  MIG 3g.20gb     Device  1: (UUID: MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-60a6ff53-6756-fd30-cd4a-1e6da3caf9b0)
`;
const DEVICES = parseDeviceList(LIST);

describe('nvidia-smi -L', () => {
  test('a divided GPU is its parts', () => {
    expect(DEVICES).toEqual([
      {
        uuid: 'MIG-c7384736-a75d-5afc-978f-d2f1294409fd',
        name: 'NVIDIA A100-SXM4-40GB MIG 3g.20gb',
        index: 0,
        boardUuid: 'GPU-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0',
      },
      {
        uuid: 'MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d',
        name: 'NVIDIA A100-SXM4-40GB MIG 3g.20gb',
        index: 0,
        boardUuid: 'GPU-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0',
      },
      {
        uuid: 'GPU-60a6ff53-6756-fd30-cd4a-1e6da3caf9b0',
        name: 'NVIDIA A100-SXM4-40GB',
        index: 1,
        boardUuid: 'GPU-60a6ff53-6756-fd30-cd4a-1e6da3caf9b0',
      },
    ]);
  });

  test('drivers before R470 named MIG devices by their place', () => {
    const older = LIST.replace(/MIG-c73[\w-]+/, 'MIG-GPU-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0/1/0');
    expect(parseDeviceList(older)[0]?.uuid).toBe('MIG-GPU-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0/1/0');
  });

  test('nothing of it, or something else, is no device', () => {
    expect(parseDeviceList('')).toEqual([]);
    expect(parseDeviceList('NVIDIA-SMI has failed\n  MIG 1g.5gb Device 0: (UUID: MIG-1)')).toEqual([]);
  });
});

describe('names', () => {
  const uuidsOf = (name: string): string[] => devicesNamed(DEVICES, name).map(({ uuid }) => uuid);

  test('a number or a UUID of a divided GPU means all its parts', () => {
    expect(uuidsOf('0')).toHaveLength(2);
    expect(uuidsOf('GPU-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0')).toHaveLength(2);
    expect(uuidsOf('1')).toEqual(['GPU-60a6ff53-6756-fd30-cd4a-1e6da3caf9b0']);
  });

  test('the start of a UUID is enough when only one has it', () => {
    expect(uuidsOf('MIG-a28')).toEqual(['MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d']);
    expect(uuidsOf('MIG-')).toEqual([]);
    expect(uuidsOf('7')).toEqual([]);
    expect(uuidsOf('vit')).toEqual([]);
  });

  test('CUDA_VISIBLE_DEVICES hides the others, and ends at the first that is none', () => {
    const indexes = (text?: string): number[] => visibleDevices(DEVICES, text).map(({ index }) => index);
    expect(indexes()).toEqual([0, 0, 1]);
    expect(indexes('1,MIG-c73')).toEqual([1, 0]);
    expect(indexes('1,9,0')).toEqual([1]);
    expect(indexes('')).toEqual([]);
  });
});
