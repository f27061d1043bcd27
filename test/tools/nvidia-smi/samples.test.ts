import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { ExportFormatError } from '../../../src/errors.ts';
import { parseComputeApps } from '../../../src/tools/nvidia-smi/nvidia-smi.ts';
import { parseDmon, parseQueryCsv, samplesOf } from '../../../src/tools/nvidia-smi/gpu-samples.ts';
import { NO_SAMPLE, SMI_FIXTURES } from '../../support/nvidia-smi.ts';

const read = (name: string): string => readFileSync(join(SMI_FIXTURES, name), 'utf8');

describe('nvidia-smi --query-gpu', () => {
  test('of an H200 under driver 580', () => {
    const sample = {
      at: '2026-11-20T12:21:14.385Z',
      smClockMhz: 345,
      memoryClockMhz: 3201,
      powerW: 78.09,
      powerLimitW: 700,
      temperatureC: 36,
      gpuUtilisationPercent: 0,
      memoryUsedMib: 0,
      clockReasons: ['gpuIdle'],
      pcieGeneration: 5,
      pcieWidth: 16,
    };
    const uuid = 'GPU-00000000-0000-0000-0000-000000000000';
    expect(parseQueryCsv(read('query-580.csv'))).toEqual([{ uuid, index: 0, samples: [sample] }]);
  });

  test('with a column in front that somebody added', () => {
    const [gpu] = parseQueryCsv(read('../trtexec/gpu-contended/nvidia-smi.csv'));
    expect(gpu?.samples).toHaveLength(15);
    expect(gpu?.samples[1]).toMatchObject({
      at: '2026-11-21T07:51:07.835Z',
      smClockMhz: 1485,
      powerW: 691.42,
      memoryUsedMib: 1011,
      pcieWidth: null,
      clockReasons: ['swPowerCap'],
    });
  });

  test.each([
    ['throttle_reasons.active\n0x00000000000000E8', 'hwSlowdown swThermalSlowdown hwThermalSlowdown hwPowerBrake'],
    [
      'throttle_reasons.sw_power_cap, clocks_event_reasons.hw_thermal_slowdown\nNot Active, Active',
      'hwThermalSlowdown',
    ],
    ['event_reasons.sw_power_cap\nNot Active', ''],
    ['event_reasons.active\n[N/A]', undefined],
    // Bits that nobody knows yet are passed over.
    ['event_reasons.active\n0x8000000000000001', 'gpuIdle'],
  ])('reasons: %j', (text, reasons) => {
    expect(parseQueryCsv(`clocks_${text}\n`)[0]?.samples[0]?.clockReasons?.join(' ')).toBe(reasons);
  });

  test('what a GPU does not say is null, whatever the words', () => {
    const text = [
      'utilization.gpu [%], power.draw [W], clocks.sm, timestamp, memory.used [MiB]',
      '[N/A], [Not Supported], [Requested functionality has been deprecated], tomorrow, [GPU requires reset]',
    ].join('\r\n');
    expect(parseQueryCsv(text)[0]?.samples).toEqual([NO_SAMPLE]);
  });

  test('columns in any order, two GPUs, a line that was cut off', () => {
    const text = `uuid, temperature.gpu, index\nGPU-a, 30, 0\nGPU-b, 40, 1\nGPU-a, 31, 0\nGPU-b, 4`;
    const gpus = parseQueryCsv(text);
    // Without a uuid, which of the two it was is not told.
    const found = ['GPU-a', 'GPU-b', null, 'GPU-c'].map((uuid) => samplesOf(gpus, uuid).map((of) => of.temperatureC));
    expect(found).toEqual([[30, 31], [40], [], []]);
  });

  test('of the only GPU, its MIG device or a run that does not name it; not of another', () => {
    const gpus = parseQueryCsv('uuid, index\nGPU-a, 0\n');
    expect([null, 'MIG-b', 'GPU-b'].map((uuid) => samplesOf(gpus, uuid).length)).toEqual([1, 1, 0]);
  });

  test.each(['', 'No devices were found\n', '1,2,3\n4,5,6\n'])('%j is none', (text) => {
    expect(() => parseQueryCsv(text)).toThrow(ExportFormatError);
  });
});

describe('nvidia-smi dmon', () => {
  test('of an idle H200 under driver 580', () => {
    const gpus = parseDmon(read('dmon-580.txt'));
    expect(gpus.map(({ index, samples }) => [index, samples.length])).toEqual([[0, 3]]);
    const clocks = { smClockMhz: 345, memoryClockMhz: 3201, clockReasons: [] };
    const idle = { powerW: 78, temperatureC: 36, gpuUtilisationPercent: 0, memoryUsedMib: 0 };
    expect(gpus[0]?.samples[0]).toEqual({ ...NO_SAMPLE, ...clocks, ...idle });
  });

  test('with the columns of -s pv -o DT, and violations', () => {
    const text = [
      '#Date       Time        gpu    pwr  gtemp  mtemp  pviol  tviol',
      '#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %   bool',
      ' 20261121   07:55:17      0    690     84      -      7      1',
      ' 20261121   07:55:18      0      -     84      -      0      0',
    ].join('\n');
    const hot = { ...NO_SAMPLE, temperatureC: 84 };
    expect(parseDmon(text)[0]?.samples).toEqual([
      { ...hot, at: '2026-11-21T07:55:17.000Z', powerW: 690, clockReasons: ['swPowerCap', 'swThermalSlowdown'] },
      { ...hot, at: '2026-11-21T07:55:18.000Z', clockReasons: [] },
    ]);
  });

  test('a text without columns is none', () => {
    expect(() => parseDmon('nvidia-smi: command not found\n')).toThrow(ExportFormatError);
  });
});

test('the compute processes of a GPU; MPS works for all of them', () => {
  const text =
    '4711, 1011, python train.py, with a comma\n4712, [N/A], [Not Found]\n4713, 28, nvidia-cuda-mps-server\n\n';
  expect(parseComputeApps(text)).toEqual([
    { pid: 4711, name: 'python train.py, with a comma', memoryMib: 1011 },
    { pid: 4712, name: '[Not Found]', memoryMib: null },
  ]);
  expect(parseComputeApps('No devices were found\n')).toEqual([]);
});
