import { describe, expect, test } from 'vitest';

import { onlyRun, readFixture } from '../../support/recordings.ts';
import { judged, parseTrtexecLog } from '../../support/whole-files.ts';

const WHOLE = readFixture('formats/default-run/stdout.log.br').toString();
const OTHER = readFixture('formats/no-transfers/stdout.log.br').toString();
/** Ended by a signal: it has no closing marker. */
const ENDLESS = readFixture('failures/endless-timeout/stdout.log.br').toString();

/** Line by line in turn, as two processes write to one file. */
function interleaved(a: string, b: string): string {
  const [first, second] = [a.split('\n'), b.split('\n')];
  const length = Math.max(first.length, second.length);
  return Array.from({ length }, (_, index) => [first[index] ?? [], second[index] ?? []])
    .flat(2)
    .join('\n');
}

function withoutMarkers(log: string): string {
  return log.replace(/^&&&& .*\n?/gm, '');
}

describe('what else stands in a log', () => {
  test('what a script said before its run is no run, and no cause of it', () => {
    const noise = 'error: could not open file x\nls: cannot access y: No space left on device\n';
    const run = onlyRun(noise + WHOLE);
    expect(run.failures).toEqual([]);
    expect(run.measurement).toEqual(onlyRun(WHOLE).measurement);
  });

  test('a trtexec that could not even start is a run before the next one', () => {
    const loader = 'trtexec: error while loading shared libraries: libnvinfer.so.10: cannot open shared object file\n';
    const { runs } = parseTrtexecLog(loader + WHOLE);
    expect(runs.map(({ failures }) => failures[0]?.reason)).toEqual(['libraryMissing', undefined]);
  });

  test('times before each line, markers too, change nothing', () => {
    const stamped = (WHOLE + OTHER).replace(/^(?=.)/gm, '2026-11-21T07:33:53.0000000Z ');
    const read = (log: string) =>
      parseTrtexecLog(log).runs.map((run) => [run.commandLine, run.closingMarker, run.measurement]);
    expect(read(stamped)).toEqual(read(WHOLE + OTHER));
  });

  test('a script that quotes a marker does not end the run', () => {
    const trace = `+ grep -q '&&&& PASSED TensorRT.trtexec' out.log\n`;
    expect(onlyRun(ENDLESS + trace).closingMarker).toBeNull();
  });

  test('a last line without a line feed is read before stderr', () => {
    const start = WHOLE.slice(0, WHOLE.indexOf('\n'));
    const { runs } = parseTrtexecLog(start, '[11/21/2026-07:33:53] [E] no\n');
    expect(runs.map(({ errors }) => errors.length)).toEqual([1]);
  });
});

describe('two processes that wrote to one log at once', () => {
  test.each([
    ['of different commands', OTHER],
    ['of the same command', WHOLE],
    ['of which one was killed', ENDLESS],
  ])('%s: no number is trusted', (_, second) => {
    const { runs } = parseTrtexecLog(interleaved(second, WHOLE));
    expect(runs).toHaveLength(2);
    expect(runs.map(({ measurement }) => measurement)).toEqual([null, null]);
    expect(runs.map((run) => judged(run).kind)).not.toContain('measured');
    expect(runs.map(({ overlaps }) => overlaps)).toContain(true);
  });
});

test('without markers, each banner begins a run with options of its own', () => {
  const { runs } = parseTrtexecLog(withoutMarkers(WHOLE) + withoutMarkers(OTHER));
  expect(runs.map(({ options }) => [options.dataTransfers, options.percentiles])).toEqual([
    [true, [90, 95, 99]],
    [false, [90, 95, 99]],
  ]);
  expect(runs.map(({ measurement }) => measurement?.throughputQps)).toEqual(
    [WHOLE, OTHER].map((log) => onlyRun(log).measurement?.throughputQps),
  );
});

// Made from the banner of 8.0 in NVIDIA's sampleOptions.cpp.
test('8.0 says elsewhere that inference is skipped, and how much is profiled', () => {
  const lines = ['=== Build Options ===', 'NVTX verbosity: 2', ' ', '=== Inference Options ==='];
  const log = [...lines, 'Skip inference: Enabled'].map((line) => `[05/24/2021-13:24:18] [I] ${line}`);
  expect(onlyRun(log.join('\n')).options).toMatchObject({ skipInference: true, profilingVerbosity: 2 });
});

test('a percentile that is no number is left out', () => {
  const log = WHOLE.replace(/(Latency: .*percentile\(99%\) = )[\d.]+/, '$1inf');
  expect(Object.keys(onlyRun(log).measurement?.latencyMs.percentiles ?? {})).toEqual(['90', '95']);
});
