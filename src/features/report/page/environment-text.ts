import type { Environment } from '../../../records/environment.ts';

/** What people tell machines apart by, in one line. */
export function environmentText(environment: Environment): string {
  const { gpuName, driver, cuda, tensorrt, clockPolicy, host } = environment;
  const parts = [
    gpuName,
    driver === null ? null : `driver ${driver}`,
    cuda === null ? null : `CUDA ${cuda}`,
    tensorrt === null ? null : `TensorRT ${tensorrt}`,
    clockPolicy === null ? null : `clocks ${clockPolicy}`,
    host === null ? null : `host ${host}`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? 'nothing is known of it' : parts.join(' · ');
}

/** Every field that is known, with its name in words and its unit. */
export function environmentFields(environment: Environment): [name: string, value: string][] {
  const fields: readonly [string, string | number | null, string][] = [
    ['GPU', environment.gpuName, ''],
    ['GPU UUID', environment.gpuUuid, ''],
    ['compute capability', environment.computeCapability, ''],
    ['GPU memory', environment.gpuMemoryMib, ' MiB'],
    ['driver', environment.driver, ''],
    ['CUDA', environment.cuda, ''],
    ['TensorRT', environment.tensorrt, ''],
    ['TensorRT library', environment.tensorrtLibrary, ''],
    ['clocks', environment.clockPolicy, ''],
    ['highest SM clock', environment.maxSmClockMhz, ' MHz'],
    ['power limit', environment.powerLimitW, ' W'],
    ['ECC', environment.ecc, ''],
    ['MIG', environment.mig, ''],
    ['persistence mode', environment.persistence, ''],
    ['compute mode', environment.computeMode, ''],
    ['driver model', environment.driverModel, ''],
    ['VBIOS', environment.vbios, ''],
    ['PCIe', environment.pcieMax, ''],
    ['host', environment.host, ''],
    ['CPU', environment.cpu, ''],
    ['CPU governor', environment.cpuGovernor, ''],
    ['NUMA node of the GPU', environment.numaNode, ''],
    ['OS', environment.os, ''],
    ['container', environment.container, ''],
  ];
  return fields.flatMap(([name, value, unit]): [string, string][] =>
    value === null ? [] : [[name, `${value}${unit}`]],
  );
}
