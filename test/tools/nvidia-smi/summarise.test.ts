import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import type { TelemetrySample } from '../../../src/records/telemetry.ts';
import { parseQueryCsv } from '../../../src/tools/nvidia-smi/gpu-samples.ts';
import { NOT_WATCHED, summariseTelemetry } from '../../../src/tools/nvidia-smi/summarise.ts';
import { NO_SAMPLE } from '../../support/nvidia-smi.ts';
import { SUSTAINED } from '../../support/recordings.ts';

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

test('no samples are no values, beside what the host says', () => {
  const otherProcesses = [{ pid: 4711, name: 'python', memoryMib: 5 }];
  const moment = { otherProcesses, hostLoad: 0.25, hostMemoryMaxMib: 2048, processMemoryMaxMib: 812 };
  expect(summariseTelemetry([], moment)).toMatchObject({ samples: 0, powerW: null, ...moment });
});

test('a day of samples is not too many', () => {
  const samples = Array.from({ length: 200_000 }, (_, place) => sample({ powerW: place }));
  expect(summariseTelemetry(samples, NOT_WATCHED).powerMaxW).toBe(199_999);
});
