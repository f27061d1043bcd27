import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { ExportFormatError } from '../../../src/errors.ts';
import type { TelemetrySample } from '../../../src/records/telemetry.ts';
import {
  NOT_WATCHED,
  parseDmon,
  parseQueryCsv,
  samplesOf,
  summariseTelemetry,
} from '../../../src/tools/nvidia-smi/gpu-samples.ts';
import { parseComputeApps } from '../../../src/tools/nvidia-smi/nvidia-smi.ts';
import { NO_SAMPLE, SMI_FIXTURES } from '../../support/nvidia-smi.ts';
import { SUSTAINED } from '../../support/recordings.ts';

const read = (name: string): string => readFileSync(join(SMI_FIXTURES, name), 'utf8');

describe('nvidia-smi --query-gpu', () => {
  test('of an H200 under driver 580', () => {
    const idle = {
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
    expect(parseQueryCsv(read('query-580.csv'))).toEqual([{ uuid, index: 0, samples: [idle] }]);
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

function sample(facts: Partial<TelemetrySample>): TelemetrySample {
  return { ...NO_SAMPLE, ...facts };
}

test('20 s of an H200 at its power cap: idle seconds before and after do not count', () => {
  const text = readFileSync(join(SUSTAINED, 'nvidia-smi-loop.csv'), 'utf8');
  const [gpu] = parseQueryCsv(text);
  expect(gpu?.samples).toHaveLength(104);
  expect(summariseTelemetry(gpu?.samples ?? [], NOT_WATCHED)).toEqual({
    // 80 at 100 %, and the last one, in which the work ended, at 62 %.
    samples: 81,
    smClockMhz: 1815,
    smClockMinMhz: 1650,
    memoryClockMhz: 3201,
    powerW: 689.53,
    powerMaxW: 692.74,
    powerLimitW: null,
    temperatureMaxC: 52,
    gpuUtilisationPercent: 100,
    memoryUsedMaxMib: null,
    clockReasons: { swPowerCap: 1 },
    pcieGeneration: null,
    pcieWidth: null,
    ...NOT_WATCHED,
  });
});

test('a share is of the samples that say reasons at all', () => {
  const busy = sample({ gpuUtilisationPercent: 90 });
  const idle = sample({ gpuUtilisationPercent: 2, clockReasons: ['gpuIdle'] });
  const both: TelemetrySample = { ...busy, clockReasons: ['swPowerCap', 'hwSlowdown'] };
  const { clockReasons, samples } = summariseTelemetry([both, { ...busy, clockReasons: [] }, busy, idle], NOT_WATCHED);
  expect([samples, clockReasons]).toEqual([3, { swPowerCap: 0.5, hwSlowdown: 0.5 }]);
});

test.each([
  ['a GPU that waits for its host works, too', [3, 30, 28, 0], 2],
  ['noise of an idle one is no work: then all samples count', [0, 12, 0], 3],
  ['one that tells nothing (MIG) counts when it is not idle', [null, null], 2],
])('%s', (_, utilisation, counted) => {
  const samples = utilisation.map((gpuUtilisationPercent, place) => sample({ gpuUtilisationPercent, powerW: place }));
  expect(summariseTelemetry(samples, NOT_WATCHED).samples).toBe(counted);
});

test('without utilisation, samples of an idle GPU do not count', () => {
  const idle = sample({ smClockMhz: 345, clockReasons: ['gpuIdle'] });
  expect(summariseTelemetry([idle, sample({ smClockMhz: 1980, clockReasons: [] })], NOT_WATCHED)).toMatchObject({
    samples: 1,
    smClockMhz: 1980,
  });
});

test('the link is the lowest that was seen under load', () => {
  const link = (gpuUtilisationPercent: number, pcieGeneration: number, pcieWidth: number) =>
    sample({ gpuUtilisationPercent, pcieGeneration, pcieWidth });
  const summary = summariseTelemetry([link(0, 1, 16), link(100, 5, 16), link(100, 4, 8)], NOT_WATCHED);
  expect([summary.pcieGeneration, summary.pcieWidth]).toEqual([4, 8]);
});
