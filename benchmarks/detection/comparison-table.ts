import type { Comparison, DeciderRow, DetectorRow } from './comparison.ts';
import type { OurTimes } from './our-times.ts';

const DETECTOR_HEADERS = [
  'histories',
  'F1',
  'P',
  'R',
  'false/1000',
  'null flagged',
  'nightly F1',
  'false/1000',
  'delay',
  'ms a series',
];
const DECIDER_HEADERS = ['two commits', 'F1', 'P', 'R', 'false/1000', 'A/A alarmed', 'ms a cell'];

/** The whole comparison as text: one table for histories, one for two commits, and our times. */
export function comparisonLines(comparison: Comparison): string[] {
  const { detectors, deciders, times, withoutPeers } = comparison;
  return [
    ...aligned([DETECTOR_HEADERS, ...detectors.map(detectorFields)]),
    '',
    ...aligned([DECIDER_HEADERS, ...deciders.map(deciderFields)]),
    '',
    ...timeLines(times),
    ...(withoutPeers === null ? [] : [`peers: ${withoutPeers}`]),
  ];
}

function detectorFields({ name, whole, nightly, msPerHistory }: DetectorRow): string[] {
  return [
    name,
    whole.f1.toFixed(3),
    whole.precision.toFixed(3),
    whole.recall.toFixed(3),
    whole.falsePer1000.toFixed(2),
    whole.nullFlagged.join('/'),
    nightly?.f1.toFixed(3) ?? '-',
    nightly?.falsePer1000.toFixed(2) ?? '-',
    nightly?.delayMedian?.toString() ?? '-',
    milliseconds(msPerHistory),
  ];
}

function deciderFields({ name, score, msPerCell }: DeciderRow): string[] {
  return [
    name,
    score.f1.toFixed(3),
    score.precision.toFixed(3),
    score.recall.toFixed(3),
    score.falsePer1000.toFixed(1),
    score.quietAlarmed.join('/'),
    milliseconds(msPerCell),
  ];
}

function timeLines({ short, long }: OurTimes): string[] {
  const [shortSteady, shortChanging] = short.map(milliseconds);
  const [longSteady, longChanging] = long.map(milliseconds);
  return [
    `bench detect, 180 nights: ${shortSteady} ms without a change, ${shortChanging} ms with two`,
    `bench detect, 5000 nights: ${longSteady} ms without a change, ${longChanging} ms with 19`,
  ];
}

function milliseconds(timeMs: number): string {
  return timeMs < 10 ? timeMs.toPrecision(2) : timeMs.toFixed(0);
}

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((text, column) => {
        const width = widths[column] ?? 0;
        return column === 0 ? text.padEnd(width) : text.padStart(width);
      })
      .join('  '),
  );
}
