import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { ExportFormatError } from '../../../src/errors.ts';
import type { TelemetrySample } from '../../../src/tools/nvidia-smi/gpu-samples.ts';
import {
  devicesNamed,
  environmentOf,
  firstVisibleGpu,
  parseDeviceList,
  parseGpuReport,
  visibleDevices,
} from '../../../src/tools/nvidia-smi/gpu-report.ts';
import {
  NOT_WATCHED,
  parseGpuSamples,
  samplesOf,
  summariseTelemetry,
} from '../../../src/tools/nvidia-smi/gpu-samples.ts';
import { parseComputeApps } from '../../../src/tools/nvidia-smi/nvidia-smi.ts';
import { H200_REPORT, NO_SAMPLE, SMI_FIXTURES } from '../../support/nvidia-smi.ts';
import { SUSTAINED } from '../../support/recordings.ts';

const h200 = readFileSync(H200_REPORT, 'utf8');

/** A report with one GPU of these elements; made up, in the words of the driver that the test names. */
function reportOf(...gpus: readonly string[]): string {
  const list = gpus.map((inside) => `<gpu id="00000000:01:00.0">${inside}</gpu>`).join('');
  return `<?xml version="1.0" ?><nvidia_smi_log><driver_version>470.57.02</driver_version>${list}</nvidia_smi_log>`;
}

describe('nvidia-smi -q -x', () => {
  test('of an H200 under driver 580', () => {
    const { driver, cuda, gpus } = parseGpuReport(h200);
    expect({ driver, cuda }).toEqual({ driver: '580.159.04', cuda: '13.0' });
    expect(gpus).toHaveLength(1);
    expect(gpus[0]).toEqual({
      index: 0,
      name: 'NVIDIA H200',
      architecture: 'Hopper',
      uuid: 'GPU-00000000-0000-0000-0000-000000000000',
      busId: '00000000:00:06.0',
      vbios: '96.00.A5.00.1A',
      ecc: 'on',
      mig: 'off',
      persistence: 'on',
      computeMode: 'Default',
      driverModel: null,
      clocks: { smMhz: 345, maxSmMhz: 1980, applicationsSmMhz: 1980, defaultApplicationsSmMhz: 1980 },
      power: { limitW: 700, defaultLimitW: 700 },
      temperatureC: 36,
      // 36 °C now, 52 °C left, slowdown 2 °C beyond that.
      slowdownTemperatureC: 90,
      pcie: { generation: 5, width: 16, maxGeneration: 5, maxWidth: 16 },
      gpuUtilisationPercent: 0,
      memoryTotalMib: 143771,
      memoryUsedMib: 0,
      processes: [],
    });
  });

  test('of an older driver, with its own names for power', () => {
    const report = parseGpuReport(
      reportOf(`
        <power_readings><power_draw>61.20 W</power_draw><power_limit>70.00 W</power_limit>
          <enforced_power_limit>65.00 W</enforced_power_limit></power_readings>
        <temperature><gpu_temp>40 C</gpu_temp><gpu_temp_slow_threshold>93 C</gpu_temp_slow_threshold></temperature>`),
    );
    const gpu = { power: { limitW: 65, defaultLimitW: null }, slowdownTemperatureC: 93 };
    expect(report).toMatchObject({ driver: '470.57.02', cuda: null, gpus: [gpu] });
  });

  test('every way of saying nothing is null', () => {
    const deprecated = 'Requested functionality has been deprecated';
    const words = ['N/A', '[N/A]', '[Not Supported]', deprecated, `[${deprecated}]`, ''];
    const gpus = words.map(
      (word) =>
        `<uuid>${word}</uuid><fb_memory_usage><total>${word}</total></fb_memory_usage><persistence_mode>${word}</persistence_mode>`,
    );
    const nothing = { uuid: null, memoryTotalMib: null, persistence: null };
    expect(parseGpuReport(reportOf(...gpus)).gpus).toMatchObject(words.map(() => nothing));
  });

  test('several GPUs with the processes of each', () => {
    const process = (pid: number, name: string, memory: string) =>
      `<process_info><pid>${pid}</pid><type>C</type><process_name>${name}</process_name><used_memory>${memory}</used_memory></process_info>`;
    const { gpus } = parseGpuReport(
      reportOf(
        `<uuid>GPU-a</uuid><processes>${process(41, 'python', '1011 MiB')}</processes>`,
        `<uuid>GPU-b</uuid><processes>${process(42, 'a &amp; b', 'N/A')}${process(43, '[Not Found]', '5 MiB')}</processes>`,
      ),
    );
    const others = [
      [42, 'a & b', null],
      [43, '', 5],
    ].map(([pid, name, memoryMib]) => ({ pid, name, memoryMib }));
    expect(gpus).toMatchObject([
      { index: 0, uuid: 'GPU-a', processes: [{ pid: 41, name: 'python', memoryMib: 1011 }] },
      { index: 1, uuid: 'GPU-b', processes: others },
    ]);
  });

  test.each([
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    '',
    '<html><body>404</body></html>',
    '<nvidia_smi_log><gpu',
  ])('%j is no report', (text) => expect(() => parseGpuReport(text)).toThrow(ExportFormatError));
});

function environmentIn(text: string) {
  const report = parseGpuReport(text);
  return environmentOf(report, report.gpus[0] ?? null);
}

describe('what a number depends on', () => {
  test('on the H200', () => {
    expect(environmentIn(h200)).toMatchObject({
      driver: '580.159.04',
      cuda: '13.0',
      gpuName: 'NVIDIA H200',
      gpuMemoryMib: 143771,
      clockPolicy: null,
      maxSmClockMhz: 1980,
      powerLimitW: 700,
      pcieMax: '5 x16',
    });
  });

  test('applications clocks that were set', () => {
    const set = h200.replace(/(<applications_clocks>\s*<graphics_clock>)1980/, '$11410');
    expect(environmentIn(set).clockPolicy).toBe('applications clock 1410 MHz');
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
  ])('%#: %j', (gpus, env, uuid) => expect(firstVisibleGpu(gpus, env)?.uuid).toBe(uuid));
});

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

const read = (name: string): string => readFileSync(join(SMI_FIXTURES, name), 'utf8');

describe('nvidia-smi --query-gpu', () => {
  test('of an H200 under driver 580', () => {
    const idle = {
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
      powerCapPercent: null,
    };
    const uuid = 'GPU-00000000-0000-0000-0000-000000000000';
    expect(parseGpuSamples(read('query-580.csv'))).toEqual([{ uuid, samples: [idle] }]);
  });

  test.each([
    ['throttle_reasons.active\n0x00000000000000E8', 'hwSlowdown swThermalSlowdown hwThermalSlowdown hwPowerBrake'],
    ['throttle_reasons.gpu_idle, clocks_event_reasons.hw_thermal_slowdown\nNot Active, Active', 'hwThermalSlowdown'],
    ['event_reasons.sw_power_cap\nNot Active', ''],
    ['event_reasons.active\n[N/A]', undefined],
    // Bits that nobody knows yet are passed over.
    ['event_reasons.active\n0x8000000000000001', 'gpuIdle'],
  ])('reasons: %j', (text, reasons) => {
    expect(parseGpuSamples(`clocks_${text}\n`)[0]?.samples[0]?.clockReasons?.join(' ')).toBe(reasons);
  });

  test('what a GPU does not say is null, whatever the words', () => {
    const text = [
      'utilization.gpu [%], power.draw [W], clocks.sm, timestamp, memory.used [MiB]',
      '[N/A], [Not Supported], [Requested functionality has been deprecated], tomorrow, [GPU requires reset]',
    ].join('\r\n');
    expect(parseGpuSamples(text)[0]?.samples).toEqual([NO_SAMPLE]);
  });

  test('columns in any order, two GPUs, a line that was cut off', () => {
    const gpus = parseGpuSamples(`uuid, temperature.gpu, index\nGPU-a, 30, 0\nGPU-b, 40, 1\nGPU-a, 31, 0\nGPU-b, 4`);
    // Without a uuid, which of the two it was is not told.
    const found = ['GPU-a', 'GPU-b', null, 'GPU-c'].map((uuid) => samplesOf(gpus, uuid).map((of) => of.temperatureC));
    expect(found).toEqual([[30, 31], [40], [], []]);
  });

  test.each(['', 'No devices were found\n', '1,2,3\n4,5,6\n'])('%j is none', (text) => {
    expect(() => parseGpuSamples(text)).toThrow(ExportFormatError);
  });
});

describe('nvidia-smi dmon', () => {
  test('of an idle H200 under driver 580', () => {
    const gpus = parseGpuSamples(read('dmon-580.txt'));
    expect(gpus.map(({ samples }) => samples.length)).toEqual([3]);
    const clocks = { smClockMhz: 345, memoryClockMhz: 3201, clockReasons: [], powerCapPercent: 0 };
    const idle = { powerW: 78, temperatureC: 36, gpuUtilisationPercent: 0, memoryUsedMib: 0 };
    expect(gpus[0]?.samples[0]).toEqual({ ...NO_SAMPLE, ...clocks, ...idle });
  });

  test('with the columns of -s pv -o DT, and violations', () => {
    const text = [
      '#Date       Time        gpu    pwr  gtemp  mtemp  pviol  tviol',
      '#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %   bool',
      ' 20261121   07:55:17      0    690     84      -     17      1',
      ' 20261121   07:55:18      0      -     84      -      7      0',
    ].join('\n');
    const hot = { ...NO_SAMPLE, temperatureC: 84 };
    const samples = parseGpuSamples(text)[0]?.samples ?? [];
    expect(samples).toEqual([
      { ...hot, powerW: 690, powerCapPercent: 17, clockReasons: ['swThermalSlowdown'] },
      { ...hot, powerCapPercent: 7, clockReasons: [] },
    ]);
    const shares = { swPowerCap: 0.12, hwSlowdown: 0, swThermalSlowdown: 0.5 };
    expect(summariseTelemetry(samples, NOT_WATCHED).clockReasons).toEqual(shares);
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
  const [gpu] = parseGpuSamples(readFileSync(join(SUSTAINED, 'nvidia-smi-loop.csv'), 'utf8'));
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
    temperatureStartC: 46,
    temperatureMaxC: 52,
    gpuUtilisationPercent: 100,
    memoryUsedMaxMib: null,
    clockReasons: { swPowerCap: 1, hwSlowdown: 0 },
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
  const summary = summariseTelemetry([idle, sample({ smClockMhz: 1980, clockReasons: [] })], NOT_WATCHED);
  expect(summary).toMatchObject({ samples: 1, smClockMhz: 1980 });
});

test('the link is the lowest that was seen under load', () => {
  const link = (gpuUtilisationPercent: number, pcieGeneration: number, pcieWidth: number) =>
    sample({ gpuUtilisationPercent, pcieGeneration, pcieWidth });
  const summary = summariseTelemetry([link(0, 1, 16), link(100, 5, 16), link(100, 4, 8)], NOT_WATCHED);
  expect([summary.pcieGeneration, summary.pcieWidth]).toEqual([4, 8]);
});
