import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { ExportFormatError } from '../../../src/errors.ts';
import { parseGpuReport } from '../../../src/tools/nvidia-smi/gpu-report.ts';

const FIXTURES = join(import.meta.dirname, '..', '..', 'fixtures', 'nvidia-smi');
const h200 = readFileSync(join(FIXTURES, 'h200-580.xml'), 'utf8');

/** A report with one GPU of these elements; made up, in the words of the driver that the test names. */
function reportOf(...gpus: readonly string[]): string {
  const list = gpus.map((inside) => `<gpu id="00000000:01:00.0">${inside}</gpu>`).join('');
  return `<?xml version="1.0" ?><nvidia_smi_log><driver_version>470.57.02</driver_version>${list}</nvidia_smi_log>`;
}

describe('nvidia-smi -q -x', () => {
  test('of an H200 under driver 580', () => {
    const { driver, cuda, gpus } = parseGpuReport(h200);
    expect({ driver, cuda }).toEqual({ driver: '580.159.04', cuda: '13.0' });
    const { supportedSmMhz, ...clocks } = gpus[0]?.clocks ?? { supportedSmMhz: [] };
    expect(gpus).toHaveLength(1);
    expect({ ...gpus[0], clocks }).toEqual({
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
      clockReasons: ['gpuIdle'],
      processes: [],
    });
    expect([supportedSmMhz.length, ...supportedSmMhz.slice(0, 3), supportedSmMhz.at(-1)]).toEqual([
      110, 1980, 1965, 1950, 345,
    ]);
  });

  test('of an older driver, with its own names for reasons and power', () => {
    const report = parseGpuReport(
      reportOf(`
        <clocks_throttle_reasons>
          <clocks_throttle_reason_gpu_idle>Not Active</clocks_throttle_reason_gpu_idle>
          <clocks_throttle_reason_sw_power_cap>Active</clocks_throttle_reason_sw_power_cap>
          <clocks_throttle_reason_hw_power_brake_slowdown>Active</clocks_throttle_reason_hw_power_brake_slowdown>
        </clocks_throttle_reasons>
        <power_readings><power_draw>61.20 W</power_draw><power_limit>70.00 W</power_limit>
          <enforced_power_limit>65.00 W</enforced_power_limit></power_readings>
        <temperature><gpu_temp>40 C</gpu_temp><gpu_temp_slow_threshold>93 C</gpu_temp_slow_threshold></temperature>`),
    );
    const reasons = { clockReasons: ['swPowerCap', 'hwPowerBrake'] };
    const gpu = { ...reasons, power: { limitW: 65, defaultLimitW: null }, slowdownTemperatureC: 93 };
    expect(report).toMatchObject({ driver: '470.57.02', cuda: null, gpus: [gpu] });
  });

  test('every way of saying nothing is null', () => {
    const deprecated = 'Requested functionality has been deprecated';
    const words = ['N/A', '[N/A]', '[Not Supported]', deprecated, `[${deprecated}]`, ''];
    const gpus = words.map(
      (word) =>
        `<uuid>${word}</uuid><fb_memory_usage><total>${word}</total></fb_memory_usage><persistence_mode>${word}</persistence_mode>
         <clocks_event_reasons>${word}</clocks_event_reasons>`,
    );
    const nothing = { uuid: null, memoryTotalMib: null, persistence: null, clockReasons: null };
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
    const [first, second, third] = [
      { pid: 41, name: 'python', memoryMib: 1011 },
      { pid: 42, name: 'a & b', memoryMib: null },
      { pid: 43, name: '', memoryMib: 5 },
    ];
    expect(gpus).toMatchObject([
      { index: 0, uuid: 'GPU-a', processes: [first] },
      { index: 1, uuid: 'GPU-b', processes: [second, third] },
    ]);
  });

  test('a GPU without anything in it is one of which nothing is known', () => {
    expect(parseGpuReport(reportOf('<product_name>Orin</product_name>')).gpus[0]).toMatchObject({
      name: 'Orin',
      uuid: null,
      clocks: { smMhz: null, supportedSmMhz: [] },
      processes: [],
    });
  });

  test.each([
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    '',
    '<html><body>404</body></html>',
    '<nvidia_smi_log><gpu',
  ])('%j is no report', (text) => {
    expect(() => parseGpuReport(text)).toThrow(ExportFormatError);
  });
});
