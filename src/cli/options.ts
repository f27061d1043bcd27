import { InvalidArgumentError, Option } from '@commander-js/extra-typings';

import { LAYER_GROUPINGS, type LayerGrouping } from '../layers/layer-info.ts';
import { DEFAULT_FAIL_ON, FAIL_ON_WORDS } from './fail-on.ts';
import {
  type ClockWish,
  type CoolDown,
  type NumaWish,
  readClockWish,
  readCoolDown,
  readNumaWish,
} from '../machine/requests.ts';
import type { IntegerRange } from '../variants/make-inputs.ts';
import { type CustomMetricId, isCustomMetric, METRIC_IDS } from '../records/metric.ts';
import { foldedNote, LONGEST_NOTE } from '../text/note.ts';
import { isOneOf } from '../text/unknown-values.ts';
import { readInstant } from '../text/utc-instant.ts';

export function positiveInteger(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) {
    throw new InvalidArgumentError('must be a whole number from 1 on.');
  }
  return value;
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError('must be a whole number from 0 on.');
  }
  return value;
}

export function numberFromZero(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && Number.isFinite(value))) {
    throw new InvalidArgumentError('must be a number from 0 on.');
  }
  return value;
}

export function portNumber(text: string): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : -1;
  if (value < 0 || value > 65_535) throw new InvalidArgumentError('must be from 0 to 65535.');
  return value;
}

export function positiveNumber(text: string): number {
  const value = Number(text);
  if (!(value > 0 && Number.isFinite(value))) {
    throw new InvalidArgumentError('must be a number above 0.');
  }
  return value;
}

export function positivePercent(text: string): number {
  const value = Number(text.replace(/\s*%$/, ''));
  if (!(value > 0 && value <= 100)) {
    throw new InvalidArgumentError('must be a percentage above 0, such as 1 or 0.5.');
  }
  return value;
}

const UNIT_S = { s: 1, m: 60, h: 3600 } as const;

/** `90s`, `30m`, `1.5h`: in seconds. */
export function duration(text: string): number {
  const [, number = '', unit] = /^(\d+(?:\.\d+)?)\s*(s|m|h)$/.exec(text.trim()) ?? [];
  const seconds = unit === 's' || unit === 'm' || unit === 'h' ? Number(number) * UNIT_S[unit] : 0;
  if (!(seconds > 0)) throw new InvalidArgumentError('must be a time such as 90s, 30m or 2h.');
  return seconds;
}

const AGE_UNIT_S = { h: 3600, d: 86_400, w: 7 * 86_400, y: 365 * 86_400 } as const;

/** `36h`, `90d`, `12w`, `1y`: in seconds. */
export function age(text: string): number {
  const [, number = '', unit] = /^(\d+(?:\.\d+)?)\s*(h|d|w|y)$/.exec(text.trim()) ?? [];
  const isUnit = unit === 'h' || unit === 'd' || unit === 'w' || unit === 'y';
  const seconds = isUnit ? Number(number) * AGE_UNIT_S[unit] : 0;
  if (!(seconds > 0)) throw new InvalidArgumentError('must be an age such as 36h, 90d, 12w or 1y.');
  return seconds;
}

const UNIT_BYTES: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  m: 1e6,
  g: 1e9,
  t: 1e12,
  ki: 2 ** 10,
  mi: 2 ** 20,
  gi: 2 ** 30,
  ti: 2 ** 40,
};

/** `20GB`, `512MiB`, `1.5T`: in bytes. */
export function byteSize(text: string): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?$/i.exec(text.trim()) ?? [];
  const scale = UNIT_BYTES[unit.toLowerCase()];
  if (number === '' || scale === undefined) {
    throw new InvalidArgumentError('must be a size such as 20GB or 512MiB.');
  }
  return Math.round(Number(number) * scale);
}

export function clockWish(text: string): ClockWish {
  const wish = readClockWish(text);
  if (wish === null) {
    throw new InvalidArgumentError('must be base, max or a frequency in MHz, such as 1590.');
  }
  return wish;
}

export function coolDownWish(text: string): CoolDown {
  const wish = readCoolDown(text);
  if (wish === null) {
    throw new InvalidArgumentError('must be a time such as 10s, or a temperature such as 45C.');
  }
  return wish;
}

export function numaWish(text: string): NumaWish {
  const wish = readNumaWish(text);
  if (wish === null) throw new InvalidArgumentError('must be auto, off or the number of a node.');
  return wish;
}

export function onOrOff(text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on';
  throw new InvalidArgumentError('must be on or off.');
}

/** `input:8x3x224x224,mask:8x1`, as trtexec takes it. */
export function statedShapes(text: string): Record<string, number[]> {
  const shapes = text.split(',').map((part): [string, number[]] => {
    const [, input = '', dims = ''] = /^(.+):(\d+(?:x\d+)*)$/.exec(part.trim()) ?? [];
    if (input === '') {
      throw new InvalidArgumentError('must be such as input:8x3x224x224, several with a comma.');
    }
    return [input, dims.split('x').map(Number)];
  });
  return Object.fromEntries(shapes);
}

/** Whole numbers from the first to the last. */
export function integerRange(text: string): IntegerRange {
  const [, low, high] = /^(-?\d{1,15})\.\.(-?\d{1,15})$/.exec(text.trim()) ?? [];
  if (low === undefined || high === undefined || Number(low) > Number(high)) {
    throw new InvalidArgumentError('must be such as 0..30521, the lower one first.');
  }
  return [Number(low), Number(high)];
}

export function filterOption() {
  return new Option(
    '--filter <expression>',
    'only these cells: FIELD = != < <= > >= VALUE, joined with & | ! ( ), * in a value stands for any text',
  );
}

/** @throws InvalidArgumentError for an empty one, as an unset variable of a CI job gives it */
export function notEmpty(text: string): string {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError('It is empty: is the variable that it is from set?');
}

/** Whose series is looked at. */
export function branchOption() {
  return new Option(
    '--branch <name>',
    'the sweeps of this branch (default: the one checked out, or that the CI job is about)',
  ).argParser(notEmpty);
}

export function failOnOption() {
  return new Option('--fail-on <list>', `what makes an exit code: ${FAIL_ON_WORDS.join(', ')}`)
    .default(DEFAULT_FAIL_ON, DEFAULT_FAIL_ON.join(','))
    .argParser((text) => {
      const words = text.split(',').map((word) => word.trim());
      return words.map((word) => {
        if (!isOneOf(FAIL_ON_WORDS, word)) {
          throw new InvalidArgumentError(`"${word}" is not one of ${FAIL_ON_WORDS.join(', ')}.`);
        }
        return word;
      });
    });
}

export function metricOption(says = 'what is compared; also a number of another harness, by its name') {
  const option = new Option('--metric <name>', `${says} (default: gpuComputeMs, for another harness its first)`);
  // For the help and for Tab; which others there are only the store knows.
  option.argChoices = [...METRIC_IDS];
  return option;
}

/** @returns UTC in ISO 8601 */
export function instant(text: string): string {
  const found = readInstant(text);
  if (found !== null) return found;
  throw new InvalidArgumentError(
    `It is no date: write 2026-03-01 or 2026-03-01T02:30, in UTC, or with a zone as +01:00.`,
  );
}

/** A number of somebody's own; times tell their unit by the end of the name, and rates (`images_per_s`) do not. */
export function ownMetric(text: string): CustomMetricId {
  const unit = /^[A-Za-z][\w.-]*(?<!per)_(ms|us|ns|s)$/.exec(text)?.[1];
  const id = unit === undefined ? text : `${text}:lower:${unit}`;
  if (isCustomMetric(id)) return id;
  throw new InvalidArgumentError(
    `"${text}" does not say which way is better, and in which unit: write NAME:lower:UNIT or NAME:higher:UNIT.`,
  );
}

export function noteText(text: string): string {
  const line = foldedNote(text);
  if (line !== '' && line.length <= LONGEST_NOTE) return line;
  throw new InvalidArgumentError(`A note has 1 to ${LONGEST_NOTE} characters.`);
}

export function layerGroupings(text: string): LayerGrouping[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .map((word) => {
      if (isOneOf(LAYER_GROUPINGS, word)) return word;
      throw new InvalidArgumentError(`"${word}" is not one of ${LAYER_GROUPINGS.join(', ')}.`);
    });
}

export function precisionShareOption() {
  return new Option(
    '--precision-share <percent>',
    'a cell is really fp8 from so much of its time on (default: 50)',
  ).argParser((text) => positivePercent(text) / 100);
}

export const PYTHON_HELP = 'the Python with ModelOpt that makes variants (default: $BENCH_PYTHON, python3)';

/** An option that may be given more than once. */
export function collected(text: string, before: string[] = []): string[] {
  return [...before, text];
}

/** A list with commas. */
export function commaList(text: string): string[] {
  return text.split(',').map((word) => word.trim());
}
