import { readFileSync } from 'node:fs';

import { describe, expect, test } from 'vitest';

import { environmentOf, firstVisibleGpu } from '../../../src/tools/nvidia-smi/gpu-environment.ts';
import { parseGpuReport } from '../../../src/tools/nvidia-smi/gpu-report.ts';
import { H200_REPORT } from '../../support/nvidia-smi.ts';

const xml = readFileSync(H200_REPORT, 'utf8');

function environmentIn(text: string) {
  const report = parseGpuReport(text);
  return environmentOf(report, report.gpus[0] ?? null);
}

describe('what a number depends on', () => {
  test('on the H200', () => {
    expect(environmentIn(xml)).toMatchObject({
      driver: '580.159.04',
      cuda: '13.0',
      gpuName: 'NVIDIA H200',
      gpuMemoryMib: 143771,
      // Idle, at 345 MHz, the lowest that it has: nothing holds it.
      clockPolicy: 'floating',
      maxSmClockMhz: 1980,
      powerLimitW: 700,
      pcieMax: '5 x16',
    });
  });

  test.each([
    ['a clock that does not fall says nothing', /<sm_clock>345 MHz/, '<sm_clock>1980 MHz', null],
    [
      'applications clocks that were set do',
      /(<applications_clocks>\s*<graphics_clock>)1980/,
      '$11410',
      'applications clock 1410 MHz',
    ],
  ])('%s', (_, pattern, replacement, policy) => {
    expect(environmentIn(xml.replace(pattern, replacement)).clockPolicy).toBe(policy);
  });

  test('without a known GPU the driver is known all the same', () => {
    expect(environmentOf(parseGpuReport(xml), null)).toEqual({ driver: '580.159.04', cuda: '13.0' });
  });
});

describe('the GPU that a process sees first', () => {
  const gpu = (name: string, uuid: string) =>
    `<gpu id="0"><product_name>${name}</product_name><uuid>${uuid}</uuid></gpu>`;
  const report = (...gpus: string[]) => parseGpuReport(`<nvidia_smi_log>${gpus.join('')}</nvidia_smi_log>`).gpus;
  const different = report(gpu('NVIDIA A', 'GPU-aaa'), gpu('NVIDIA B', 'GPU-bbb'));
  const similar = report(gpu('NVIDIA A', 'GPU-aaa'), gpu('NVIDIA A', 'GPU-bbb'));

  test.each([
    [different, { CUDA_VISIBLE_DEVICES: 'GPU-bbb' }, 'GPU-bbb'],
    [different, { CUDA_VISIBLE_DEVICES: '1', CUDA_DEVICE_ORDER: 'PCI_BUS_ID' }, 'GPU-bbb'],
    // CUDA counts the fastest first: of two kinds nobody knows which that is.
    [different, { CUDA_VISIBLE_DEVICES: '1' }, undefined],
    [different, {}, undefined],
    [similar, { CUDA_VISIBLE_DEVICES: '1' }, 'GPU-bbb'],
    [similar, {}, 'GPU-aaa'],
    [similar, { CUDA_VISIBLE_DEVICES: 'MIG-1' }, undefined],
    [similar, { CUDA_VISIBLE_DEVICES: '' }, undefined],
    [similar, { CUDA_VISIBLE_DEVICES: '7' }, undefined],
  ])('%#: %j', (gpus, env, uuid) => {
    expect(firstVisibleGpu(gpus, env)?.uuid).toBe(uuid);
  });
});
