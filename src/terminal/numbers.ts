import type { Cause } from '../records/cause.ts';
import type { GeometricMean } from '../records/verdict.ts';

const NOTHING = '–';
/** Digits below 10 ns are not meaningful for an inference. */
const MS_DECIMALS = 5;

/** Formats four significant digits, without an exponent for usual magnitudes. */
export function formatNumber(value: number | null, digits = 4): string {
  if (value === null || !Number.isFinite(value)) return NOTHING;
  if (value === 0) return '0';
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  const decimals = Math.max(0, Math.min(12, digits - 1 - magnitude));
  return value.toFixed(decimals);
}

export function formatMs(value: number | null): string {
  if (value === null) return NOTHING;
  const text = formatNumber(value);
  const isTooFine = (text.split('.')[1] ?? '').length > MS_DECIMALS;
  return `${isTooFine ? value.toFixed(MS_DECIMALS) : text} ms`;
}

/** `+0.012 ms`. */
export function signedMs(value: number | null): string {
  return `${value !== null && value > 0 ? '+' : ''}${formatMs(value)}`;
}

/** `+16.0 %`, with at least two significant digits down to 0.01 %. */
export function formatPercent(value: number | null, signed = true): string {
  if (value === null || !Number.isFinite(value)) return NOTHING;
  const size = Math.abs(value);
  const decimals = size >= 100 ? 0 : size >= 1 ? 1 : 2;
  const rounded = value.toFixed(decimals);
  const isZero = Number(rounded) === 0;
  const sign = signed && value > 0 && !isZero ? '+' : '';
  return `${sign}${isZero ? rounded.replace('-', '') : rounded} %`;
}

/** `12.3 %`, of a share from 0 to 1. */
export function formatShare(share: number): string {
  return formatPercent(share * 100, false);
}

/** `4.9 to 5.3 %`: the sizes of changes. */
export function rangeText(percents: readonly number[]): string {
  const ends = [Math.min(...percents), Math.max(...percents)].map((percent) => formatPercent(percent, false));
  return [...new Set(ends)].join(' to ').replace(' % to', ' to');
}

/** `, accounts for 121 % of it, others gained 78.0 %`; empty if the share is unknown. */
export function shareText(
  { explainsPercent, gainedPercent }: Pick<Cause, 'explainsPercent' | 'gainedPercent'>,
  before: string,
  of = '',
): string {
  if (explainsPercent === null) return '';
  const gained = gainedPercent === null ? '' : `, others gained ${formatPercent(gainedPercent, false)}`;
  return `${before} ${formatPercent(explainsPercent, false)}${of === '' ? '' : ` ${of}`}${gained}`;
}

/** `+14.2 … +16.0 %`; empty without an interval. */
export function intervalText(percents: readonly [number, number] | null): string {
  if (percents === null) return '';
  const [from, to] = percents.map((percent) => formatPercent(percent));
  return `${from?.replace(/ %$/, '')} … ${to}`;
}

/** `+1.2 % (0.9 to 1.5), 48 cells` */
export function meanText(mean: GeometricMean): string {
  const without = mean.leftOut === 0 ? '' : `, ${mean.leftOut} left out`;
  return `${meanChangeText(mean)}, ${count(mean.cells, 'cell')}${without}`;
}

/** `+1.2 % (0.9 to 1.5)`; both bounds have equal decimals. */
export function meanChangeText({ changePercent, ciPercent }: GeometricMean): string {
  if (ciPercent === null) return formatPercent(changePercent);
  const decimals = Math.max(...ciPercent.map(Math.abs)) >= 1 ? 1 : 2;
  const [from, to] = ciPercent.map((percent) => percent.toFixed(decimals).replace(/^-(0\.0+)$/, '$1'));
  return `${formatPercent(changePercent)} (${from} to ${to})`;
}

export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : plural}`;
}

type Counted = Readonly<Record<'runs' | 'builds', number> & Partial<Record<'measured' | 'built', number>>>;

/** `10 runs + 1 engine`, `9 of 10 runs + 1 engine`: the finished part of the planned or begun runs. */
export function runsAndEngines({ runs, measured = runs, builds, built = builds }: Counted): string {
  return [doneOf(measured, runs, 'run'), ...(builds === 0 ? [] : [doneOf(built, builds, 'engine')])].join(' + ');
}

function doneOf(done: number, all: number, noun: string): string {
  return `${done === all ? '' : `${done} of `}${count(all, noun)}`;
}

/** `850 ms`, `12 s`, `4 min 10 s`, `2 h 05 min`. */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${formatNumber(seconds, seconds < 10 ? 2 : 3)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${String(whole % 60).padStart(2, '0')} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}

/** `493 B`, `107 KiB`, `2.5 GiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 ? value : formatNumber(value, 3)} ${units[power]}`;
}

/** Null for outputs without any difference. */
export function formatDecibels(sqnrDb: number | null): string {
  return sqnrDb === null ? 'equal' : `${sqnrDb.toFixed(1)} dB`;
}

interface Throughput {
  readonly throughputFrom: string | null;
}

export function isDerived({ throughputFrom }: Throughput): boolean {
  return throughputFrom === 'medianLatency';
}

export function derivedText(one: Throughput, value: number | null, digits?: number): string {
  return `${isDerived(one) ? '~' : ''}${formatNumber(value, digits)}`;
}

export const DERIVED_LEGEND =
  '~ the harness counts no throughput: it is what the median latency of one query at a time comes to';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Returns `24 Feb`. @param date begins with year, month and day (ISO 8601); without one the result is empty */
export function dayText(date: string | null): string {
  const [, month, day] = /^\d{4}-(\d{2})-(\d{2})/.exec(date ?? '') ?? [];
  return month === undefined || day === undefined ? '' : `${Number(day)} ${MONTHS[Number(month) - 1] ?? month}`;
}

/** `~0.4200 ms`: the times of several streams overlap. */
export function streamMs(ms: number | null, streams: number): string {
  return `${streams > 1 && ms !== null ? '~' : ''}${formatMs(ms)}`;
}

/** Explains the `~` of these numbers of streams; null for single ones. */
export function overlapNote(streams: readonly number[]): string | null {
  const several = [...new Set(streams.filter((number) => number > 1))].toSorted((a, b) => a - b);
  if (several.length === 0) return null;
  return `~ ${several.join(' or ')} streams overlap: their times say little, throughput is what counts`;
}

/** Units of metrics that get worse or better, not slower or faster. */
const NO_SPEEDS = ['MiB', 'mJ', '%', 'dB'];

export function isSpeed(unit: string): boolean {
  return !NO_SPEEDS.includes(unit);
}

/** `slower` or `faster`; `worse` or `better` of a metric that is no speed. Other words stay. */
export function directionWord(word: string, unit: string): string {
  if (isSpeed(unit)) return word;
  return { slower: 'worse', faster: 'better' }[word] ?? word;
}
