import { describe, expect, test } from 'vitest';

import type { TrtexecRun } from '../../../src/trtexec/log/run-builder.ts';
import { onlyRun, readFixture } from '../../support/recordings.ts';
import { parseTrtexecLog } from '../../support/whole-files.ts';

const LOG = readFixture('nights/1/resnet_small.fp16.b8.graph1/stdout.log.br').toString();
const OTHER = readFixture('formats/default-run/stdout.log.br').toString();
const VERBOSE = readFixture('formats/build-and-run-verbose/stdout.log.br').toString();
const BUILD = readFixture('formats/build-resnet-tiny/stdout.log.br').toString();

function facts({ measurement, options, device, build, queries, closingMarker }: TrtexecRun) {
  return { measurement, options, device, build, queries, closingMarker };
}

describe('a run that was killed in a line, and another that was appended to its log', () => {
  const whole = facts(onlyRun(OTHER));

  test.each([
    ['a plain log', LOG, LOG.lastIndexOf('&&&&'), 331],
    ['a verbose one', VERBOSE, VERBOSE.indexOf('Starting inference'), 4999],
  ])('%s, cut anywhere', (_name, log, end, step) => {
    for (let at = 60; at < end; at += step) {
      const { runs } = parseTrtexecLog(log.slice(0, at) + OTHER);
      expect(runs.map(({ closingMarker, overlaps }) => [closingMarker, overlaps])).toEqual([
        [null, false],
        ['PASSED', false],
      ]);
      expect(runs[1] && facts(runs[1])).toEqual(whole);
    }
  });
});

describe('logs that somebody cut', () => {
  const CASES = [
    ['a run', LOG],
    ['a build', BUILD],
    ['a run with a profile', readFixture('formats/profile-separate/stdout.log.br').toString()],
  ] as const;

  test.each(CASES)('%s without time and severity before each line', (_name, log) => {
    const stripped = log.replace(/^\[[^\]]*\] \[I\] ?/gm, '');
    expect(stripped).not.toContain('] [I]');
    const run = onlyRun(stripped);
    expect([facts(run), run.helpPrinted, run.profile]).toEqual([facts(onlyRun(log)), false, onlyRun(log).profile]);
  });

  test.each(
    CASES.flatMap(([name, log]) => [
      [`${name} without the time`, log, log.replace(/^\[\d[^\]]*\] (?=\[\w\])/gm, '')],
      [`${name} without its empty lines`, log, log.replace(/^\[[^\]]*\] \[I\] ?\n/gm, '')],
    ]),
  )('%s', (_name, log = '', handled = '') => {
    expect(handled.length).toBeLessThan(log.length);
    expect(facts(onlyRun(handled))).toEqual(facts(onlyRun(log)));
  });

  test('a help text has the same headings, and is none', () => {
    const { runs } = parseTrtexecLog(readFixture('formats/help/stdout.log.br'));
    expect(runs.map(({ helpPrinted, options }) => [helpPrinted, options.onnx])).toEqual([[true, null]]);
  });
});

test('a warning that came before the marker of its run is of that run', () => {
  const run = onlyRun('[11/21/2026-07:33:52] [W] --streams flag has been deprecated\n' + LOG);
  expect(run.hints.map(({ id }) => id)).toContain('deprecated_flag');
  expect(run.measurement).toEqual(onlyRun(LOG).measurement);
});
