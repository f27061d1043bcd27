import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import type { TelemetrySample } from '../../../src/records/telemetry.ts';
import { parseQueryCsv } from '../../../src/tools/nvidia-smi/gpu-samples.ts';
import { summariseTelemetry } from '../../../src/tools/nvidia-smi/summarise.ts';
import { SUSTAINED } from '../../support/recordings.ts';

const NOBODY = { otherProcesses: [], hostLoad: null };

function sample(facts: Partial<TelemetrySample>): TelemetrySample {
  return {
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
    ...facts,
  };
}

test('20 s of an H200 at its power cap: idle seconds before and after do not count', () => {
  const text = readFileSync(join(SUSTAINED, 'nvidia-smi-loop.csv'), 'utf8');
  const [gpu] = parseQueryCsv(text);
  expect(gpu?.samples).toHaveLength(104);
  expect(summariseTelemetry(gpu?.samples ?? [], NOBODY)).toEqual({
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
    ...NOBODY,
  });
});

test('a share is of the samples that say reasons at all', () => {
  const { clockReasons, samples } = summariseTelemetry(
    [
      sample({ gpuUtilisationPercent: 90, clockReasons: ['swPowerCap', 'hwSlowdown'] }),
      sample({ gpuUtilisationPercent: 90, clockReasons: [] }),
      sample({ gpuUtilisationPercent: 90, clockReasons: null }),
      sample({ gpuUtilisationPercent: 2, clockReasons: ['gpuIdle'] }),
    ],
    NOBODY,
  );
  expect(samples).toBe(3);
  expect(clockReasons).toEqual({ swPowerCap: 0.5, hwSlowdown: 0.5 });
});

test.each([
  ['a GPU that waits for its host works, too', [3, 30, 28, 0], [30, 28]],
  ['noise of an idle one is no work: then all samples count', [0, 12, 0], [0, 12, 0]],
  ['one that tells nothing (MIG) counts when it is not idle', [null, null], [null, null]],
])('%s', (_, utilisation, counted) => {
  const samples = utilisation.map((gpuUtilisationPercent, place) => sample({ gpuUtilisationPercent, powerW: place }));
  expect(summariseTelemetry(samples, NOBODY).samples).toBe(counted.length);
});

test('without utilisation, samples of an idle GPU do not count', () => {
  const samples = [
    sample({ smClockMhz: 345, clockReasons: ['gpuIdle'] }),
    sample({ smClockMhz: 1980, clockReasons: [] }),
  ];
  expect(summariseTelemetry(samples, NOBODY)).toMatchObject({ samples: 1, smClockMhz: 1980 });
});

test('the link is the lowest that was seen under load', () => {
  const link = (gpuUtilisationPercent: number, pcieGeneration: number, pcieWidth: number) =>
    sample({ gpuUtilisationPercent, pcieGeneration, pcieWidth });
  const summary = summariseTelemetry([link(0, 1, 16), link(100, 5, 16), link(100, 4, 8)], NOBODY);
  expect([summary.pcieGeneration, summary.pcieWidth]).toEqual([4, 8]);
});

test('no samples are no values, beside what the host says', () => {
  const moment = { otherProcesses: [{ pid: 4711, name: 'python', memoryMib: 5 }], hostLoad: 0.25 };
  expect(summariseTelemetry([], moment)).toMatchObject({ samples: 0, powerW: null, ...moment });
});

test('a day of samples is not too many', () => {
  const samples = Array.from({ length: 200_000 }, (_, place) => sample({ powerW: place }));
  expect(summariseTelemetry(samples, NOBODY).powerMaxW).toBe(199_999);
});
