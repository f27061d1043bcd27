import { ExportFormatError } from '../../errors.ts';
import {
  CLOCK_REASONS,
  type ClockReason,
  type OtherProcess,
  type RunTelemetry,
  type TelemetrySample,
} from '../../records/telemetry.ts';
import { median } from '../../statistics/order-statistics.ts';
import {
  clockReasonOfField,
  instantOrNull,
  isReasonMask,
  numberOrNull,
  reasonsOfFields,
  reasonsOfMask,
  textOrNull,
} from './values.ts';

export interface GpuSamples {
  readonly uuid: string | null;
  /** nvidia-smi's number; null if the file has none. */
  readonly index: number | null;
  readonly samples: readonly TelemetrySample[];
}

/**
 * The samples of the GPU that a run used. A MIG device has another ID than the sampled whole GPU, so that a single GPU
 * is taken. Empty if it is unknown which of several GPUs the run used, or if it used another one.
 */
export function samplesOf(gpus: readonly GpuSamples[], uuid: string | null): readonly TelemetrySample[] {
  const isWholeGpu = uuid?.startsWith('GPU-') === true;
  const named = isWholeGpu ? gpus.find((gpu) => gpu.uuid === uuid) : undefined;
  if (named !== undefined) return named.samples;
  const [only, ...others] = gpus;
  if (only === undefined || others.length > 0) return [];
  return isWholeGpu && only.uuid !== null ? [] : only.samples;
}

/** Relevant columns. A query for `clocks.sm` has the header `clocks.current.sm`; the last names are those of dmon. */
const COLUMNS = {
  index: ['index', 'gpu'],
  uuid: ['uuid', 'gpu_uuid'],
  smClockMhz: ['clocks.current.sm', 'clocks.sm', 'pclk'],
  memoryClockMhz: ['clocks.current.memory', 'clocks.mem', 'mclk'],
  powerW: ['power.draw', 'power.draw.average', 'power.draw.instant', 'pwr'],
  powerLimitW: ['enforced.power.limit', 'power.limit'],
  temperatureC: ['temperature.gpu', 'gtemp'],
  gpuUtilisationPercent: ['utilization.gpu', 'sm'],
  memoryUsedMib: ['memory.used', 'fb'],
  pcieGeneration: ['pcie.link.gen.current', 'pcie.link.gen.gpucurrent'],
  pcieWidth: ['pcie.link.width.current'],
} as const;

type Row = ReadonlyMap<string, string>;

interface SampleFormat {
  /** None for a line that is no sample. */
  readonly fieldsOf: (line: string) => string[];
  readonly headerOf: (line: string) => string[] | null;
  readonly instantOf: (row: Row) => string | null;
  readonly reasonsIn: (row: Row) => ClockReason[] | null;
  readonly problem: string;
}

/** Reads columns in any order by their header. Skips other columns and truncated lines. */
function parseSamples(text: string, format: SampleFormat): GpuSamples[] {
  let header: readonly string[] | null = null;
  const rows: Row[] = [];
  for (const line of text.split('\n')) {
    const names = format.headerOf(line);
    if (names !== null) header = names;
    if (names !== null || header === null) continue;
    const fields = format.fieldsOf(line);
    if (fields.length === header.length) rows.push(new Map(header.map((name, place) => [name, fields[place] ?? ''])));
  }
  if (header === null) throw new ExportFormatError(format.problem);
  return [...Map.groupBy(rows, (row) => textIn(row, 'uuid') ?? numberIn(row, 'index')).values()].map((group) => ({
    uuid: group[0] === undefined ? null : textIn(group[0], 'uuid'),
    index: group[0] === undefined ? null : numberIn(group[0], 'index'),
    samples: group.map((row) => ({
      at: format.instantOf(row),
      smClockMhz: numberIn(row, 'smClockMhz'),
      memoryClockMhz: numberIn(row, 'memoryClockMhz'),
      powerW: numberIn(row, 'powerW'),
      powerLimitW: numberIn(row, 'powerLimitW'),
      temperatureC: numberIn(row, 'temperatureC'),
      gpuUtilisationPercent: numberIn(row, 'gpuUtilisationPercent'),
      memoryUsedMib: numberIn(row, 'memoryUsedMib'),
      clockReasons: format.reasonsIn(row),
      pcieGeneration: numberIn(row, 'pcieGeneration'),
      pcieWidth: numberIn(row, 'pcieWidth'),
    })),
  }));
}

function textIn(row: Row, column: keyof typeof COLUMNS): string | null {
  const name = COLUMNS[column].find((candidate) => textOrNull(row.get(candidate)) !== null);
  return name === undefined ? null : textOrNull(row.get(name));
}

function numberIn(row: Row, column: keyof typeof COLUMNS): number | null {
  return numberOrNull(textIn(row, column));
}

/** @throws ExportFormatError if there is no header line of `nvidia-smi --query-gpu=... --format=csv` */
export function parseQueryCsv(text: string): GpuSamples[] {
  return parseSamples(text, {
    // nvidia-smi does not quote fields.
    fieldsOf: (line) => line.split(',').map((field) => field.trim()),
    headerOf: (line) => {
      // Removes the unit of `clocks.current.sm [MHz]`.
      const names = line.split(',').map((field) =>
        field
          .replace(/\s*\[[^\]]*\]\s*$/, '')
          .trim()
          .toLowerCase(),
      );
      return names.some(isQueryColumn) ? names : null;
    },
    instantOf: (row) => instantOrNull(textOrNull(row.get('timestamp'))),
    reasonsIn: queryReasons,
    problem: 'no header of `nvidia-smi --query-gpu` or `nvidia-smi dmon`',
  });
}

const DOTTED_OR_ID = new Set(['timestamp', 'index', 'uuid', 'gpu_uuid']);
const KNOWN: ReadonlySet<string> = new Set(Object.values(COLUMNS).flat());

function isQueryColumn(name: string): boolean {
  const isKnown = DOTTED_OR_ID.has(name) || (name.includes('.') && KNOWN.has(name));
  return isKnown || isReasonMask(name) || clockReasonOfField(name) !== null;
}

/** The mask has all reasons, while single columns have only the queried ones. */
function queryReasons(row: Row): ClockReason[] | null {
  for (const [name, value] of row) {
    const reasons = isReasonMask(name) ? reasonsOfMask(value) : null;
    if (reasons !== null) return reasons;
  }
  return reasonsOfFields(row);
}

/**
 * Parses the output of `nvidia-smi dmon`. Its `-s` selects the columns. The first line with `#` names them, the second
 * one has their units, and both are repeated on every screen.
 * @throws ExportFormatError if no line names columns
 */
export function parseDmon(text: string): GpuSamples[] {
  return parseSamples(text, {
    fieldsOf: (line) => (isDmonComment(line) ? [] : wordsOf(line)),
    headerOf: (line) => {
      const names = isDmonComment(line) ? wordsOf(line.replace('#', ' ')) : [];
      return names.includes('gpu') ? names : null;
    },
    instantOf: dmonInstant,
    reasonsIn: dmonReasons,
    problem: 'no line that names the columns of dmon',
  });
}

function wordsOf(line: string): string[] {
  return line.trim().split(/\s+/);
}

function isDmonComment(line: string): boolean {
  return line.trim().startsWith('#');
}

/** Reads `20261121` and `07:55:17`, with `-o DT`. Ignores a time without a date. */
function dmonInstant(row: Row): string | null {
  const [, year, month, day] = /^(\d{4})(\d\d)(\d\d)$/.exec(row.get('Date') ?? '') ?? [];
  return instantOrNull(`${year}/${month}/${day} ${row.get('Time') ?? ''}`);
}

/** A sample is one of the power cap from this percentage of its time on. */
const CAPPED_PERCENT = 50;

/** dmon reports violations of the power cap in percent of the time, and of a thermal limit as yes or no. */
function dmonReasons(row: Row): ClockReason[] | null {
  const power = numberOrNull(row.get('pviol'));
  const thermal = numberOrNull(row.get('tviol'));
  if (power === null && thermal === null) return null;
  return [
    ...((power ?? 0) >= CAPPED_PERCENT ? (['swPowerCap'] as const) : []),
    ...((thermal ?? 0) > 0 ? (['swThermalSlowdown'] as const) : []),
  ];
}

/** Facts that can only be read during the run, in addition to the samples. */
interface HostMoment {
  readonly otherProcesses: readonly OtherProcess[];
  readonly hostLoad: number | null;
  readonly hostMemoryMaxMib: number | null;
  readonly processMemoryMaxMib: number | null;
}

export const NOT_WATCHED: HostMoment = {
  otherProcesses: [],
  hostLoad: null,
  hostMemoryMaxMib: null,
  processMemoryMaxMib: null,
};

/** An idle H200 reported up to 12 % for a moment after a process had ended. */
const LEAST_BUSY_PERCENT = 15;

/**
 * Summarizes the samples of one run. A run first loads its engine and ends within a second, so that some samples show
 * an idle GPU, and one at an edge is mixed. A sample counts if the GPU was at least half as busy as in the busiest one;
 * without utilization, if it was not reported as idle. If no sample is active, all count.
 */
export function summariseTelemetry(samples: readonly TelemetrySample[], moment: HostMoment): RunTelemetry {
  const working = workingSamples(samples);
  const values = (field: NumberField): number[] => working.flatMap((sample) => sample[field] ?? []);
  return {
    samples: working.length,
    smClockMhz: median(values('smClockMhz')),
    smClockMinMhz: lowest(values('smClockMhz')),
    memoryClockMhz: median(values('memoryClockMhz')),
    powerW: median(values('powerW')),
    powerMaxW: highest(values('powerW')),
    powerLimitW: median(values('powerLimitW')),
    temperatureMaxC: highest(values('temperatureC')),
    gpuUtilisationPercent: median(values('gpuUtilisationPercent')),
    memoryUsedMaxMib: highest(values('memoryUsedMib')),
    clockReasons: reasonShares(working),
    // On many cards, an idle link slows down, so that only the link of a busy GPU is meaningful.
    pcieGeneration: lowest(values('pcieGeneration')),
    pcieWidth: lowest(values('pcieWidth')),
    ...moment,
  };
}

type NumberField = Exclude<keyof TelemetrySample, 'at' | 'clockReasons'>;

function workingSamples(samples: readonly TelemetrySample[]): readonly TelemetrySample[] {
  const busiest = highest(samples.flatMap((sample) => sample.gpuUtilisationPercent ?? []));
  const working =
    busiest === null
      ? samples.filter(({ clockReasons }) => clockReasons?.includes('gpuIdle') !== true)
      : samples.filter(
          ({ gpuUtilisationPercent: busy }) => busy !== null && busy >= Math.max(LEAST_BUSY_PERCENT, busiest / 2),
        );
  return working.length === 0 ? samples : working;
}

function reasonShares(samples: readonly TelemetrySample[]): RunTelemetry['clockReasons'] {
  const stated = samples.flatMap(({ clockReasons }) => (clockReasons === null ? [] : [clockReasons]));
  return Object.fromEntries(
    CLOCK_REASONS.flatMap((reason) => {
      const active = stated.filter((reasons) => reasons.includes(reason)).length;
      return active === 0 ? [] : [[reason, active / stated.length]];
    }),
  );
}

function lowest(values: readonly number[]): number | null {
  return values.reduce<number | null>((low, value) => Math.min(low ?? value, value), null);
}

function highest(values: readonly number[]): number | null {
  return values.reduce<number | null>((high, value) => Math.max(high ?? value, value), null);
}
