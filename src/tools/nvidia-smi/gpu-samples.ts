import { ExportFormatError } from '../../errors.ts';
import type { ClockReason, TelemetrySample } from '../../records/telemetry.ts';
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
  readonly fieldsOf: (line: string) => string[];
  readonly headerOf: (line: string) => string[] | null;
  /** Whether a line is not a sample, although it has as many fields as the header. */
  readonly isComment: (line: string) => boolean;
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
    if (names !== null || header === null || format.isComment(line)) continue;
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
          .trim()
          .replace(/\s*\[[^\]]*\]$/, '')
          .toLowerCase(),
      );
      return names.some(isQueryColumn) ? names : null;
    },
    isComment: () => false,
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
    fieldsOf: wordsOf,
    headerOf: (line) => {
      const names = isDmonComment(line) ? wordsOf(line.replace('#', ' ')) : [];
      return names.includes('gpu') ? names : null;
    },
    isComment: isDmonComment,
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

/** dmon reports violations of the power cap in percent of the time, and of a thermal limit as yes or no. */
function dmonReasons(row: Row): ClockReason[] | null {
  const power = numberOrNull(row.get('pviol'));
  const thermal = numberOrNull(row.get('tviol'));
  if (power === null && thermal === null) return null;
  return [
    ...((power ?? 0) > 0 ? (['swPowerCap'] as const) : []),
    ...((thermal ?? 0) > 0 ? (['swThermalSlowdown'] as const) : []),
  ];
}
