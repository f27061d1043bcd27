import * as z from 'zod';

import { type Immutable, numberOrNull, textOrNull } from './scalars.ts';

/** Conditions that affect a number. A change splits a history. Null: unknown. */
export const environmentSchema = z.object({
  gpuName: textOrNull,
  gpuUuid: textOrNull,
  computeCapability: textOrNull,
  gpuMemoryMib: numberOrNull,
  driver: textOrNull,
  cuda: textOrNull,
  /** Version of the trtexec binary, from the marker line in its log. */
  tensorrt: textOrNull,
  host: textOrNull,
  cpu: textOrNull,
  os: textOrNull,
  /** Version of the library that trtexec loaded. The marker only gives the version that it was compiled with. */
  tensorrtLibrary: textOrNull,
  /** `floating`, or `locked 1590 MHz`. */
  clockPolicy: textOrNull,
  maxSmClockMhz: numberOrNull,
  powerLimitW: numberOrNull,
  ecc: textOrNull,
  mig: textOrNull,
  persistence: textOrNull,
  computeMode: textOrNull,
  /** `WDDM`, `TCC` or `MCDM`, on Windows. */
  driverModel: textOrNull,
  vbios: textOrNull,
  /** Generation and width that both card and slot support: `5 x16`. */
  pcieMax: textOrNull,
  cpuGovernor: textOrNull,
  numaNode: z.number().int().nullable(),
  /** `node 0 (CPUs 0-15)`; `CPUs 0-15` if bench itself is bound; or `nothing`. */
  binding: textOrNull,
  container: textOrNull,
  /** Name and version of a harness that states one: `trtllm-bench 1.2.0rc7`. */
  harness: textOrNull,
});

export type Environment = Immutable<z.infer<typeof environmentSchema>>;

/**
 * The path of data to the GPU, by the name of the GPU: the common memory of a board (Jetson, DRIVE, GB10), NVLink-C2C
 * next to a Grace CPU, else PCIe.
 */
export function hostLinkOf(gpuName: string | null | undefined): 'sharedMemory' | 'c2c' | 'pcie' {
  if (/\b(?:Orin|Thor|Xavier|Tegra|Jetson|GB10)\b/i.test(gpuName ?? '')) return 'sharedMemory';
  return /\bG[HB][23]00\b/.test(gpuName ?? '') ? 'c2c' : 'pcie';
}

export const UNKNOWN_ENVIRONMENT: Environment = environmentSchema.parse(
  Object.fromEntries(Object.keys(environmentSchema.shape).map((fact) => [fact, null])),
);
