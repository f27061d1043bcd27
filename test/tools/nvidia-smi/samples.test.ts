import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { ExportFormatError } from '../../../src/errors.ts';
import { parseComputeApps } from '../../../src/tools/nvidia-smi/nvidia-smi.ts';
import { parseDmon, parseQueryCsv, samplesOf } from '../../../src/tools/nvidia-smi/gpu-samples.ts';
import { SMI_FIXTURES } from '../../support/nvidia-smi.ts';

const read = (name: string): string => readFileSync(join(SMI_FIXTURES, name), 'utf8');
const NOTHING = {
  at: null,
  smClockMhz: null,
  memoryClockMhz: null,
  powerW: null,
  powerLimitW: null,
  temperatureC: null,
  gpuUtilisationPercent: null,
  memoryUsedMib: null,
  clockReasons: null,
  pcieGeneration: null,
  pcieWidth: null,
};

describe('nvidia-smi --query-gpu', () => {
  test('of an H200 under driver 580', () => {
    expect(parseQueryCsv(read('query-580.csv'))).toEqual([
      {
        uuid: 'GPU-00000000-0000-0000-0000-000000000000',
        index: 0,
        samples: [
          {
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
          },
        ],
      },
    ]);
  });

  test('with a column in front that somebody added', () => {
    const [gpu] = parseQueryCsv(read('../trtexec/gpu-contended/nvidia-smi.csv'));
    expect(gpu?.samples).toHaveLength(15);
    expect(gpu?.samples[1]).toEqual({
      ...NOTHING,
      at: '2026-11-21T07:51:07.835Z',
      smClockMhz: 1485,
      memoryClockMhz: 3201,
      powerW: 691.42,
      powerLimitW: 700,
      temperatureC: 52,
      gpuUtilisationPercent: 100,
      memoryUsedMib: 1011,
      clockReasons: ['swPowerCap'],
    });
  });

  test.each([
    [
      'clocks_throttle_reasons.active\n0x00000000000000E8\n',
      ['hwSlowdown', 'swThermalSlowdown', 'hwThermalSlowdown', 'hwPowerBrake'],
    ],
    [
      'clocks_throttle_reasons.sw_power_cap, clocks_event_reasons.hw_thermal_slowdown\nNot Active, Active\n',
      ['hwThermalSlowdown'],
    ],
    ['clocks_event_reasons.sw_power_cap\nNot Active\n', []],
    ['clocks_event_reasons.active\n[N/A]\n', null],
    // Bits that nobody knows yet are passed over.
    ['clocks_event_reasons.active\n0x8000000000000001\n', ['gpuIdle']],
  ])('reasons: %j', (text, reasons) => {
    expect(parseQueryCsv(text)[0]?.samples[0]?.clockReasons).toEqual(reasons);
  });

  test('what a GPU does not say is null, whatever the words', () => {
    const text = [
      'utilization.gpu [%], power.draw [W], clocks.sm, timestamp, memory.used [MiB]',
      '[N/A], [Not Supported], [Requested functionality has been deprecated], tomorrow, [GPU requires reset]',
    ].join('\r\n');
    expect(parseQueryCsv(text)[0]?.samples).toEqual([NOTHING]);
  });

  test('columns in any order, two GPUs, a line that was cut off', () => {
    const text = `uuid, temperature.gpu, index\nGPU-a, 30, 0\nGPU-b, 40, 1\nGPU-a, 31, 0\nGPU-b, 4`;
    const gpus = parseQueryCsv(text);
    const temperatures = (uuid: string | null): (number | null)[] =>
      samplesOf(gpus, uuid).map(({ temperatureC }) => temperatureC);
    expect(temperatures('GPU-a')).toEqual([30, 31]);
    expect(temperatures('GPU-b')).toEqual([40]);
    // Which of the two it was is not told.
    expect(temperatures(null)).toEqual([]);
    expect(temperatures('GPU-c')).toEqual([]);
  });

  test('of the only GPU, its MIG device or a run that does not name it; not of another', () => {
    const gpus = parseQueryCsv('uuid, index\nGPU-a, 0\n');
    expect(samplesOf(gpus, null)).toHaveLength(1);
    expect(samplesOf(gpus, 'MIG-b')).toHaveLength(1);
    expect(samplesOf(gpus, 'GPU-b')).toHaveLength(0);
  });

  test.each(['', 'No devices were found\n', '1,2,3\n4,5,6\n'])('%j is none', (text) => {
    expect(() => parseQueryCsv(text)).toThrow(ExportFormatError);
  });
});

describe('nvidia-smi dmon', () => {
  test('of an idle H200 under driver 580', () => {
    const [gpu, ...others] = parseDmon(read('dmon-580.txt'));
    expect(others).toEqual([]);
    expect(gpu?.index).toBe(0);
    expect(gpu?.samples).toHaveLength(3);
    expect(gpu?.samples[0]).toEqual({
      ...NOTHING,
      smClockMhz: 345,
      memoryClockMhz: 3201,
      powerW: 78,
      temperatureC: 36,
      gpuUtilisationPercent: 0,
      memoryUsedMib: 0,
      clockReasons: [],
    });
  });

  test('with the columns of -s pv -o DT, and violations', () => {
    const text = [
      '#Date       Time        gpu    pwr  gtemp  mtemp  pviol  tviol',
      '#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %   bool',
      ' 20261121   07:55:17      0    690     84      -      7      1',
      ' 20261121   07:55:18      0      -     84      -      0      0',
    ].join('\n');
    expect(parseDmon(text)[0]?.samples).toEqual([
      {
        ...NOTHING,
        at: '2026-11-21T07:55:17.000Z',
        powerW: 690,
        temperatureC: 84,
        clockReasons: ['swPowerCap', 'swThermalSlowdown'],
      },
      { ...NOTHING, at: '2026-11-21T07:55:18.000Z', temperatureC: 84, clockReasons: [] },
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
