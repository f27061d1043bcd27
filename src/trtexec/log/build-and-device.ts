import { finiteOrNull, NUMBER } from './printed-values.ts';

/** What a process printed of its engine; null where it did not. */
export interface BuildFacts {
  engineBuiltS: number | null;
  /** Size of the engine that this process built. */
  createdEngineMib: number | null;
  /** Size of the engine that this process loaded; whole MiB, as the library prints it. */
  loadedEngineMib: number | null;
  deserializedS: number | null;
  parsedModelS: number | null;
  contextMemoryMib: number | null;
  /** Mean of ten refits with the weights that the engine was built with; `--timeRefit`. */
  refitMs: number | null;
  /** The most that the allocators of the builder held on the GPU at once; whole MiB. */
  peakMemoryMib: number | null;
  inferenceSkipped: boolean;
  inferenceStarted: boolean;
}

export function emptyBuild(): BuildFacts {
  return {
    engineBuiltS: null,
    createdEngineMib: null,
    loadedEngineMib: null,
    deserializedS: null,
    parsedModelS: null,
    contextMemoryMib: null,
    refitMs: null,
    peakMemoryMib: null,
    inferenceSkipped: false,
    inferenceStarted: false,
  };
}

type NumericFact = Exclude<keyof BuildFacts, 'inferenceSkipped' | 'inferenceStarted'>;

/** Lines printed once per phase; their order and number differ by version. */
const BUILD_LINES: readonly { readonly fact: NumericFact; readonly pattern: RegExp }[] = [
  { fact: 'engineBuiltS', pattern: new RegExp(`^Engine built in (${NUMBER}) sec`) },
  { fact: 'createdEngineMib', pattern: new RegExp(`^Created engine with size: (${NUMBER}) MiB`) },
  { fact: 'loadedEngineMib', pattern: new RegExp(`^Loaded engine (?:with )?size: (${NUMBER}) MiB`) },
  { fact: 'deserializedS', pattern: new RegExp(`^Engine (?:deserialized|loaded) in (${NUMBER}) sec`) },
  { fact: 'parsedModelS', pattern: new RegExp(`^Finished parsing network model\\. Parse time: (${NUMBER})`) },
  {
    fact: 'contextMemoryMib',
    pattern: new RegExp(`^Created execution context with device memory size: (${NUMBER}) MiB`),
  },
  {
    // Printed for strategies that do not reserve the memory of the largest profile.
    fact: 'contextMemoryMib',
    pattern: new RegExp(`^Only allocated device memory enough for current (?:profile|input shapes): (${NUMBER}) MiB`),
  },
  {
    fact: 'peakMemoryMib',
    pattern: new RegExp(
      `^\\[MemUsageStats\\] Peak memory usage of TRT CPU/GPU memory allocators: CPU \\d+ MiB, GPU (${NUMBER}) MiB`,
    ),
  },
  { fact: 'refitMs', pattern: new RegExp(`^Engine refitted in (${NUMBER}) ms`) },
];

/** Takes one `[I]` line outside the banner and the report. */
export function readBuildLine(draft: BuildFacts, text: string): void {
  if (text.startsWith('Starting inference')) draft.inferenceStarted = true;
  else if (text.startsWith('Skipped inference phase since')) draft.inferenceSkipped = true;
  else {
    for (const { fact, pattern } of BUILD_LINES) {
      const match = pattern.exec(text);
      if (match !== null) {
        draft[fact] = finiteOrNull(match[1]);
        return;
      }
    }
  }
}

/** Lines of the device block that are taken as they are. Clock lines changed their name in 8.6. */
const TEXT_LINES = {
  'Selected Device': 'name',
  'Selected Device UUID': 'uuid',
  'Compute Capability': 'computeCapability',
} as const;

/** Lines of which the first number counts. */
const NUMBER_LINES = {
  'Selected Device ID': 'id',
  SMs: 'sms',
  'Device Global Memory': 'globalMemoryMib',
  'Device Memory': 'globalMemoryMib',
  'Shared Memory per SM': 'sharedMemoryPerSmKib',
  'Memory Bus Width': 'memoryBusWidthBits',
  'Application Compute Clock Rate': 'applicationComputeClockGhz',
  'Compute Clock Rate': 'applicationComputeClockGhz',
  'Application Memory Clock Rate': 'applicationMemoryClockGhz',
  'Memory Clock Rate': 'applicationMemoryClockGhz',
} as const;

/** The device block. Clock rates are nominal, not measured. */
export type DeviceFacts = Record<(typeof TEXT_LINES)[keyof typeof TEXT_LINES], string | null> &
  Record<(typeof NUMBER_LINES)[keyof typeof NUMBER_LINES], number | null> & { ecc: boolean | null };

export function emptyDevice(): DeviceFacts {
  return {
    name: null,
    id: null,
    uuid: null,
    computeCapability: null,
    sms: null,
    globalMemoryMib: null,
    sharedMemoryPerSmKib: null,
    memoryBusWidthBits: null,
    ecc: null,
    applicationComputeClockGhz: null,
    applicationMemoryClockGhz: null,
  };
}

/** Takes one line of the `=== Device Information ===` block; false when it is none of its lines. */
export function readDeviceLine(draft: DeviceFacts, text: string): boolean {
  const [, name, value = ''] = /^(.+?): (.*)$/.exec(text) ?? [];
  const key = name?.trim();
  if (hasKey(TEXT_LINES, key)) draft[TEXT_LINES[key]] = value.trim();
  else if (hasKey(NUMBER_LINES, key)) draft[NUMBER_LINES[key]] = finiteOrNull(value.trim().split(' ')[0]);
  else return false;
  if (key === 'Memory Bus Width') {
    draft.ecc = value.includes('ECC enabled') ? true : value.includes('ECC disabled') ? false : null;
  }
  return true;
}

function hasKey<Table extends object>(table: Table, key: PropertyKey | undefined): key is keyof Table {
  return key !== undefined && Object.hasOwn(table, key);
}
