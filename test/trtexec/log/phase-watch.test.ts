import { describe, expect, test } from 'vitest';

import { NO_PHASE_LIMITS, timeLimitText } from '../../../src/records/time-limit.ts';
import { PhaseWatch } from '../../../src/trtexec/log/phase-watch.ts';
import { readFixture } from '../../support/recordings.ts';

const LIMITS = { firstOutputS: 10, loadS: 20, timedPartS: 30, endS: 40 };
const LOG = String(readFixture('nights/2/resnet_small.fp16.b8.graph1/stdout.log.br')).split(/(?<=\n)/);

const upTo = (words: string): string => LOG.slice(0, LOG.findIndex((line) => line.includes(words)) + 1).join('');

describe('a recorded run of 10.6, in which the process stops', () => {
  test('before it prints anything', () => {
    const watch = new PhaseWatch(LIMITS, null);
    expect(watch.passed(9.9)).toBeNull();
    const phase = 'before its first output';
    expect(watch.passed(10)).toEqual({ phase, of: 'phase', limitS: 10, inPhaseS: 10, lastLine: null });
  });

  test.each([
    ['Loading standard plugins', 'before its first inference', 20],
    ['Starting inference', 'in warm-up or the timed part', 30],
    ['Successfully captured CUDA graph', 'in warm-up or the timed part', 30],
    ['Warmup completed', 'after the timed part', 40],
    ['Performance summary', 'after the timed part', 40],
  ])('after "%s": %s', (words, phase, limitS) => {
    const watch = new PhaseWatch(LIMITS, null);
    watch.read(upTo(words), 'stdout', 5);
    expect(watch.passed(5 + limitS - 0.1)).toBeNull();
    const passed = watch.passed(5 + limitS);
    expect(passed).toMatchObject({ phase, of: 'phase', limitS, inPhaseS: limitS });
    expect(passed?.lastLine).toContain(words);
  });
});

test('a silent build is limited as a whole only', () => {
  const watch = new PhaseWatch({ ...NO_PHASE_LIMITS, firstOutputS: 10 }, 3600);
  watch.read('&&&& RUNNING x\n[11/21/2026-07:32:29] [I] Finished parsing network model. Parse time: 1\n', 'stdout', 1);
  expect(watch.passed(3599)).toBeNull();
  const passed = watch.passed(3600);
  expect(passed && timeLimitText(passed)).toBe(
    'ended before its first inference by the limit of 3600 s for the whole, 3599 s of it there; its last line: [11/21/2026-07:32:29] [I] Finished parsing network model. Parse time: 1',
  );
});

test('what the model prints is not taken for a phase, and the last line is cut to a length', () => {
  const watch = new PhaseWatch(LIMITS, null);
  watch.read('Starting inference of layer "x"\n', 'stdout', 1);
  watch.read(`${'y'.repeat(10_000)}\n`, 'stderr', 2);
  const passed = watch.passed(21);
  expect(passed?.phase).toBe('before its first inference');
  expect(passed?.lastLine?.length).toBeLessThanOrEqual(4096);
});
