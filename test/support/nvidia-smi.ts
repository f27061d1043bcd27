import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import type { TelemetrySample } from '../../src/tools/nvidia-smi/gpu-samples.ts';
import { temporaryFolder } from './bench.ts';

export const SMI_FIXTURES = join(import.meta.dirname, '..', 'fixtures', 'nvidia-smi');
export const H200_REPORT = join(SMI_FIXTURES, 'h200-580.xml');

/** A sample that says nothing. */
export const NO_SAMPLE: TelemetrySample = {
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
  powerCapPercent: null,
};

/** How the stub behaves: see `stub-nvidia-smi.mjs`. */
export interface StubSmi {
  readonly apps?: string;
  /** Process numbers and MiB that each sample of the processes has. */
  readonly held?: readonly (readonly [pid: number, mib: number])[];
  readonly older?: boolean;
  readonly fails?: string;
  readonly hangs?: string;
  /** File with the report. */
  readonly report?: string;
  /** What `-L` prints. */
  readonly list?: string;
  /** What it says of the temperature, one after the other; the last one stays. */
  readonly temperatures?: readonly number[];
  /** Whether its samples say that heat slows the GPU down, at 87 °C. */
  readonly hot?: boolean;
}

export interface SmiOnPath {
  readonly env: Readonly<Record<string, string>>;
  /** Each start so far. */
  readonly starts: () => { readonly pid: number; readonly line: string }[];
}

/** Variables under which the stub is the nvidia-smi of the machine: an idle H200, unless told otherwise. */
export function stubSmi(behaviour: StubSmi = {}, folder = temporaryFolder()): SmiOnPath {
  const journal = join(folder, 'journal.txt');
  symlinkSync(join(import.meta.dirname, 'stub-nvidia-smi.mjs'), join(folder, 'nvidia-smi'));
  const env = {
    PATH: [folder, process.env['PATH']].join(delimiter),
    STUB_SMI: JSON.stringify({ report: H200_REPORT, ...behaviour }),
    STUB_SMI_JOURNAL: journal,
  };
  const starts = () =>
    (existsSync(journal) ? readFileSync(journal, 'utf8') : '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => ({ pid: Number.parseInt(line, 10), line: line.replace(/^\d+ /, '') }));
  return { env, starts };
}
