import { describe, expect, test } from 'vitest';

import { devicesNamed, parseDeviceList, visibleDevices } from '../../../src/tools/nvidia-smi/device-list.ts';

const BOARDS = ['GPU-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0', 'GPU-60a6ff53-6756-fd30-cd4a-1e6da3caf9b0'] as const;

/** As in NVIDIA's MIG user guide, one GPU divided in two, one whole. */
const LIST = `GPU 0: NVIDIA A100-SXM4-40GB (UUID: ${BOARDS[0]})
  MIG 3g.20gb     Device  0: (UUID: MIG-c7384736-a75d-5afc-978f-d2f1294409fd)
  MIG 3g.20gb     Device  1: (UUID: MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: ${BOARDS[1]})
`;
const DEVICES = parseDeviceList(LIST);

describe('nvidia-smi -L', () => {
  test('a divided GPU is its parts', () => {
    const name = 'NVIDIA A100-SXM4-40GB';
    const part = { name: `${name} MIG 3g.20gb`, index: 0, boardUuid: BOARDS[0] };
    expect(DEVICES).toEqual([
      { ...part, uuid: 'MIG-c7384736-a75d-5afc-978f-d2f1294409fd' },
      { ...part, uuid: 'MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d' },
      { uuid: BOARDS[1], name, index: 1, boardUuid: BOARDS[1] },
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
    expect([uuidsOf('0').length, uuidsOf(BOARDS[0]).length, uuidsOf('1')]).toEqual([2, 2, [BOARDS[1]]]);
  });

  test('the start of a UUID is enough when only one has it', () => {
    expect(uuidsOf('MIG-a28')).toEqual(['MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d']);
    for (const none of ['MIG-', '7', 'vit']) expect(uuidsOf(none)).toEqual([]);
  });

  test('CUDA_VISIBLE_DEVICES hides the others, and ends at the first that is none', () => {
    const indexes = (text?: string): number[] => visibleDevices(DEVICES, text).map(({ index }) => index);
    expect([undefined, '1,MIG-c73', '1,9,0', ''].map(indexes)).toEqual([[0, 0, 1], [1, 0], [1], []]);
  });
});
