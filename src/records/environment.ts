/** What a number is worth depends on these. A change of one splits a history. Null: not known. */
export interface Environment {
  readonly gpuName: string | null;
  readonly gpuUuid: string | null;
  readonly computeCapability: string | null;
  readonly gpuMemoryMib: number | null;
  readonly driver: string | null;
  readonly cuda: string | null;
  /** Version of the trtexec binary, from its marker. */
  readonly tensorrt: string | null;
  readonly host: string | null;
  readonly cpu: string | null;
  readonly os: string | null;
  /** Version of the library that trtexec really loaded: the marker only says what it was compiled with. */
  readonly tensorrtLibrary: string | null;
  /** `floating`, or `locked 1590 MHz`. */
  readonly clockPolicy: string | null;
  readonly maxSmClockMhz: number | null;
  readonly powerLimitW: number | null;
  readonly ecc: string | null;
  readonly mig: string | null;
  readonly persistence: string | null;
  readonly computeMode: string | null;
  /** `WDDM`, `TCC` or `MCDM`, on Windows. */
  readonly driverModel: string | null;
  readonly vbios: string | null;
  /** Generation and width that card and slot can do: `5 x16`. */
  readonly pcieMax: string | null;
  readonly cpuGovernor: string | null;
  readonly numaNode: number | null;
  /** Image of the container, where one is known. */
  readonly container: string | null;
}

export const UNKNOWN_ENVIRONMENT: Environment = {
  gpuName: null,
  gpuUuid: null,
  computeCapability: null,
  gpuMemoryMib: null,
  driver: null,
  cuda: null,
  tensorrt: null,
  host: null,
  cpu: null,
  os: null,
  tensorrtLibrary: null,
  clockPolicy: null,
  maxSmClockMhz: null,
  powerLimitW: null,
  ecc: null,
  mig: null,
  persistence: null,
  computeMode: null,
  driverModel: null,
  vbios: null,
  pcieMax: null,
  cpuGovernor: null,
  numaNode: null,
  container: null,
};
