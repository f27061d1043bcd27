import * as z from 'zod';

import { ExportFormatError } from '../../errors.ts';
import { CLOCK_REASONS, type ClockReason, type RunTelemetry } from '../../records/telemetry.ts';
import { median } from '../../statistics/order-statistics.ts';
import { keysOf } from '../../text/unknown-values.ts';
import { isReasonField, numberOrNull, reasonsIn, textOrNull } from './values.ts';

export interface GpuSamples {
  readonly uuid: string | null;
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

/** Names of a column. */
const ID_COLUMNS = { index: ['index', 'gpu'], uuid: ['uuid', 'gpu_uuid'] } as const;

/** A query for `clocks.sm` has the header `clocks.current.sm`; the last names are those of dmon. */
const SAMPLE_COLUMNS = {
  smClockMhz: ['clocks.current.sm', 'clocks.sm', 'pclk'],
  memoryClockMhz: ['clocks.current.memory', 'clocks.mem', 'mclk'],
  powerW: ['power.draw', 'power.draw.average', 'power.draw.instant', 'pwr'],
  powerLimitW: ['enforced.power.limit', 'power.limit'],
  temperatureC: ['temperature.gpu', 'gtemp'],
  gpuUtilisationPercent: ['utilization.gpu', 'sm'],
  memoryUsedMib: ['memory.used', 'fb'],
  pcieGeneration: ['pcie.link.gen.current', 'pcie.link.gen.gpucurrent'],
  pcieWidth: ['pcie.link.width.current'],
  powerCapPercent: ['pviol'],
} as const;

const numbersSchema = z.record(z.enum(keysOf(SAMPLE_COLUMNS)), z.number().nullable());

/** Null: not supported by this driver or GPU. */
type Numbers = Readonly<z.infer<typeof numbersSchema>>;

/** One sample of a GPU from nvidia-smi. */
export interface TelemetrySample extends Numbers {
  /** Null if not queried; empty if none is active. */
  readonly clockReasons: readonly ClockReason[] | null;
}

type Row = ReadonlyMap<string, string>;

/**
 * Parses the output of `nvidia-smi --query-gpu=... --format=csv` or of `nvidia-smi dmon`, whose lines of column names
 * begin with `#` and are repeated on every screen. Reads columns in any order. Skips other columns and truncated lines.
 * @throws ExportFormatError if no line names columns
 */
export function parseGpuSamples(text: string): GpuSamples[] {
  let header: readonly string[] | null = null;
  let isDmon = false;
  const rows: Row[] = [];
  for (const line of text.split('\n')) {
    const isComment = line.trim().startsWith('#');
    const names = isComment ? dmonHeader(line) : queryHeader(line);
    if (names !== null) {
      header = names;
      isDmon = isComment;
    }
    if (names !== null || header === null || isComment) continue;
    // nvidia-smi does not quote fields.
    const fields = isDmon ? wordsOf(line) : line.split(',').map((field) => field.trim());
    if (fields.length === header.length) rows.push(new Map(header.map((name, place) => [name, fields[place] ?? ''])));
  }
  if (header === null) throw new ExportFormatError('no header of `nvidia-smi --query-gpu` or `nvidia-smi dmon`');
  const uuidIn = (row: Row): string | null => textIn(row, ID_COLUMNS.uuid);
  return [...Map.groupBy(rows, (row) => uuidIn(row) ?? textIn(row, ID_COLUMNS.index)).values()].map((group) => ({
    uuid: group[0] === undefined ? null : uuidIn(group[0]),
    samples: group.map((row) => ({
      ...numbersSchema.parse(
        Object.fromEntries(COLUMNS.map(([name, names]) => [name, numberOrNull(textIn(row, names))])),
      ),
      clockReasons: isDmon ? dmonReasons(row) : reasonsIn(row),
    })),
  }));
}

const COLUMNS = Object.entries(SAMPLE_COLUMNS);

function textIn(row: Row, names: readonly string[]): string | null {
  return names.map((name) => textOrNull(row.get(name))).find((text) => text !== null) ?? null;
}

/** Names of columns that dmon does not have. */
const OF_QUERY: ReadonlySet<string> = new Set(
  ['timestamp', 'index', 'uuid', 'gpu_uuid'].concat(
    Object.values(SAMPLE_COLUMNS).flatMap((names) => names.filter((name) => name.includes('.'))),
  ),
);

/** The column names of a query, without units such as that of `clocks.current.sm [MHz]`; null for another line. */
function queryHeader(line: string): string[] | null {
  const fields = line.toLowerCase().split(',');
  const names = fields.map((field) => field.replace(/\[[^\]]*\]\s*$/, '').trim());
  return names.some((name) => OF_QUERY.has(name) || isReasonField(name)) ? names : null;
}

/** The first line with `#` names the columns, the second one has their units. */
function dmonHeader(line: string): string[] | null {
  const names = wordsOf(line.replace('#', ' '));
  return names.includes('gpu') ? names : null;
}

function wordsOf(line: string): string[] {
  return line.trim().split(/\s+/);
}

/** dmon reports a thermal limit as yes or no. Violations of the power cap, in percent of the time, are a number. */
function dmonReasons(row: Row): ClockReason[] | null {
  const thermal = numberOrNull(row.get('tviol'));
  if (thermal === null && numberOrNull(row.get('pviol')) === null) return null;
  return (thermal ?? 0) > 0 ? ['swThermalSlowdown'] : [];
}

/** Facts that can only be read during the run, in addition to the samples. */
type HostMoment = Pick<RunTelemetry, 'hostLoad' | 'hostMemoryMaxMib' | 'otherProcesses' | 'processMemoryMaxMib'>;

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
  const values = (field: keyof Numbers): number[] => working.flatMap((sample) => sample[field] ?? []);
  return {
    samples: working.length,
    smClockMhz: median(values('smClockMhz')),
    smClockMinMhz: lowest(values('smClockMhz')),
    memoryClockMhz: median(values('memoryClockMhz')),
    powerW: median(values('powerW')),
    powerMaxW: highest(values('powerW')),
    powerLimitW: median(values('powerLimitW')),
    temperatureStartC: values('temperatureC')[0] ?? null,
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
  const capped = samples.flatMap(({ powerCapPercent }) => powerCapPercent ?? []);
  return Object.fromEntries(
    CLOCK_REASONS.flatMap((reason) => {
      const share =
        reason === 'swPowerCap' && capped.length > 0
          ? capped.reduce((sum, percent) => sum + percent, 0) / capped.length / 100
          : stated.filter((reasons) => reasons.includes(reason)).length / stated.length;
      return share > 0 || (share === 0 && reason === 'hwSlowdown') ? [[reason, share]] : [];
    }),
  );
}

function lowest(values: readonly number[]): number | null {
  return values.length === 0 ? null : Math.min(...values);
}

function highest(values: readonly number[]): number | null {
  return values.length === 0 ? null : Math.max(...values);
}
