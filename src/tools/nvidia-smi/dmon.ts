import type { ClockReason } from '../../records/telemetry.ts';
import { ExportFormatError } from '../../trtexec/exports/file-format-error.ts';
import { byGpu, type GpuSamples, type SampledLine } from './gpu-samples.ts';
import { instantOrNull, numberOrNull } from './values.ts';

type Row = ReadonlyMap<string, string>;

/**
 * Reads what `nvidia-smi dmon` printed. Which columns there are is up to its `-s`; the first line with `#` names them,
 * the second has their units, and both come again after every screenful.
 * @throws ExportFormatError when no line names columns
 */
export function parseDmon(text: string): GpuSamples[] {
  let header: readonly string[] | null = null;
  const lines: SampledLine[] = [];
  for (const line of text.split('\n')) {
    const fields = line.trim().split(/\s+/);
    if (fields[0] === '#' || fields[0]?.startsWith('#') === true) {
      const names = line.replace('#', ' ').trim().split(/\s+/);
      if (names.includes('gpu')) header = names;
    } else if (header !== null && fields.length === header.length) {
      lines.push(sampled(new Map(header.map((name, place) => [name, fields[place] ?? '']))));
    }
  }
  if (header === null) throw new ExportFormatError('no line that names the columns of dmon');
  return byGpu(lines);
}

function sampled(row: Row): SampledLine {
  const number = (name: string): number | null => numberOrNull(row.get(name));
  return {
    uuid: null,
    index: number('gpu'),
    sample: {
      at: instantOf(row),
      smClockMhz: number('pclk'),
      memoryClockMhz: number('mclk'),
      powerW: number('pwr'),
      powerLimitW: null,
      temperatureC: number('gtemp'),
      gpuUtilisationPercent: number('sm'),
      memoryUsedMib: number('fb'),
      clockReasons: reasonsIn(row),
      pcieGeneration: null,
      pcieWidth: null,
    },
  };
}

/** `20261121` and `07:55:17`, with `-o DT`. A time without its date is no instant. */
function instantOf(row: Row): string | null {
  const date = /^(\d{4})(\d\d)(\d\d)$/.exec(row.get('Date') ?? '');
  const time = row.get('Time');
  if (date === null || time === undefined) return null;
  return instantOrNull(`${date[1]}/${date[2]}/${date[3]} ${time}`);
}

/** dmon counts violations: of the power cap in percent of the time, of a thermal limit as yes or no. */
function reasonsIn(row: Row): ClockReason[] | null {
  const power = numberOrNull(row.get('pviol'));
  const thermal = numberOrNull(row.get('tviol'));
  if (power === null && thermal === null) return null;
  return [
    ...(power !== null && power > 0 ? (['swPowerCap'] as const) : []),
    ...(thermal !== null && thermal > 0 ? (['swThermalSlowdown'] as const) : []),
  ];
}
