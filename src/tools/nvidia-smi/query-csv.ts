import type { ClockReason, TelemetrySample } from '../../records/telemetry.ts';
import { ExportFormatError } from '../../trtexec/exports/file-format-error.ts';
import { byGpu, type GpuSamples, type SampledLine } from './gpu-samples.ts';
import {
  clockReasonOfField,
  instantOrNull,
  isReasonMask,
  numberOrNull,
  reasonsOfFields,
  reasonsOfMask,
  textOrNull,
} from './values.ts';

/** Names of the columns that count. What was asked for as `clocks.sm` is headed `clocks.current.sm`. */
const COLUMNS = {
  at: ['timestamp'],
  index: ['index'],
  uuid: ['uuid', 'gpu_uuid'],
  smClockMhz: ['clocks.current.sm', 'clocks.sm'],
  memoryClockMhz: ['clocks.current.memory', 'clocks.mem'],
  powerW: ['power.draw', 'power.draw.average', 'power.draw.instant'],
  powerLimitW: ['enforced.power.limit', 'power.limit'],
  temperatureC: ['temperature.gpu'],
  gpuUtilisationPercent: ['utilization.gpu'],
  memoryUsedMib: ['memory.used'],
  pcieGeneration: ['pcie.link.gen.current', 'pcie.link.gen.gpucurrent'],
  pcieWidth: ['pcie.link.width.current'],
} as const;

type Row = ReadonlyMap<string, string>;

/**
 * Reads what `nvidia-smi --query-gpu=... --format=csv` printed, once or in a loop: columns in any order, by the names
 * of their header. Other columns and lines that were cut off are passed over.
 * @throws ExportFormatError when no line is such a header
 */
export function parseQueryCsv(text: string): GpuSamples[] {
  let header: readonly string[] | null = null;
  const lines: SampledLine[] = [];
  for (const line of text.split('\n')) {
    // nvidia-smi quotes nothing.
    const fields = line.split(',').map((field) => field.trim());
    const names = fields.map(columnName);
    if (isHeader(names)) header = names;
    else if (header !== null && fields.length === header.length) {
      lines.push(sampled(new Map(header.map((name, place) => [name, fields[place] ?? '']))));
    }
  }
  if (header === null) throw new ExportFormatError('no header of `nvidia-smi --query-gpu`');
  return byGpu(lines);
}

/** `clocks.current.sm [MHz]` without its unit. */
function columnName(field: string): string {
  return field.replace(/\s*\[[^\]]*\]$/, '').toLowerCase();
}

const KNOWN: ReadonlySet<string> = new Set(Object.values(COLUMNS).flat());

function isHeader(names: readonly string[]): boolean {
  return names.some((name) => KNOWN.has(name) || isReasonMask(name) || clockReasonOfField(name) !== null);
}

function sampled(row: Row): SampledLine {
  const text = (column: keyof typeof COLUMNS): string | null => {
    const name = COLUMNS[column].find((candidate) => textOrNull(row.get(candidate)) !== null);
    return name === undefined ? null : textOrNull(row.get(name));
  };
  const number = (column: keyof typeof COLUMNS): number | null => numberOrNull(text(column));
  const sample: TelemetrySample = {
    at: instantOrNull(text('at')),
    smClockMhz: number('smClockMhz'),
    memoryClockMhz: number('memoryClockMhz'),
    powerW: number('powerW'),
    powerLimitW: number('powerLimitW'),
    temperatureC: number('temperatureC'),
    gpuUtilisationPercent: number('gpuUtilisationPercent'),
    memoryUsedMib: number('memoryUsedMib'),
    clockReasons: reasonsIn(row),
    pcieGeneration: number('pcieGeneration'),
    pcieWidth: number('pcieWidth'),
  };
  return { uuid: text('uuid'), index: number('index'), sample };
}

/** The mask has all of them; single columns only those that were asked for. */
function reasonsIn(row: Row): ClockReason[] | null {
  for (const [name, value] of row) {
    const reasons = isReasonMask(name) ? reasonsOfMask(value) : null;
    if (reasons !== null) return reasons;
  }
  return reasonsOfFields(row);
}
