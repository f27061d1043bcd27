import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';

import type { Io } from '../../src/cli/io.ts';
import { LiveProgress } from '../../src/run/live-progress.ts';
import type { Plan, PlannedRun } from '../../src/records/plan.ts';
import type { SweepEvent } from '../../src/run/sweep-context.ts';
import { totalEstimateS } from '../../src/matrix/plan/assign-gpus.ts';
import { makeLook } from '../../src/terminal/look.ts';
import type { RecordedMachine } from '../../src/trtexec/program/find-trtexec.ts';
import { testIo } from '../support/io.ts';
import { planOfCells } from '../support/plans.ts';

const COLUMNS = 60;

/** What stands on a terminal after these writes: text, line ends, `up` and `erase to the end`. */
function screenOf(writes: readonly string[]): string[] {
  let lines: string[] = [''];
  // oxlint-disable-next-line no-control-regex
  for (const [piece] of writes.join('').matchAll(/\u001b\[\d*[AJ]|\n|[^\u001b\n]+/g)) {
    if (piece === '\n') lines.push('');
    else if (piece.startsWith('\u001b[') && piece.endsWith('A')) {
      lines = lines.slice(0, Math.max(0, lines.length - 1 - Number(piece.slice(2, -1)))).concat('');
    } else if (!piece.startsWith('\u001b')) lines[lines.length - 1] += piece;
  }
  return lines;
}

function started(
  plan: Plan,
  isInteractive: boolean,
  given: Partial<Io> = {},
  recordings: RecordedMachine | null = null,
) {
  const writes: string[] = [];
  const io = {
    ...testIo(),
    isInteractive,
    errLook: makeLook(COLUMNS, false),
    err: (text: string) => void writes.push(text),
    ...given,
  };
  return { progress: new LiveProgress(plan, { recordings }, io), writes };
}

function done(run: PlannedRun, isMeasured: boolean, wallS = 1): SweepEvent {
  return {
    kind: 'runDone',
    run,
    record: {
      runId: '337263b3c9ad244d6d96f9b286798a12',
      outcome: isMeasured
        ? { kind: 'measured', evidence: [] }
        : { kind: 'failed', reason: 'outOfMemory', evidence: [] },
      harness: null,
      log: { measurement: null },
      wallS,
    },
  };
}

const PLAN = planOfCells([
  { batch: 1, seconds: 1 },
  { batch: 8, seconds: 1 },
]);
const [FIRST, SECOND] = PLAN.runs;
if (FIRST === undefined || SECOND === undefined) throw new Error('a plan of two runs');

describe('on a terminal', () => {
  test('the same few lines are redrawn, each time in one write, none wider than the terminal', () => {
    const { progress, writes } = started(PLAN, true);
    progress.take({ kind: 'runStarted', run: FIRST });
    progress.take(done(FIRST, true));
    progress.take({ kind: 'runStarted', run: SECOND });
    expect(writes).toHaveLength(3);
    const screen = screenOf(writes);
    expect(screen).toEqual([
      '▸ vit fp16 8x3 graph',
      expect.stringMatching(/^█{11}░{10} 1 of 2 runs · 0 ms · about/),
      '',
    ]);
    expect(screen.filter((line) => stringWidth(line) >= COLUMNS)).toEqual([]);
    progress.end();
  });

  test('at the end one line stays, below what went wrong', () => {
    const { progress, writes } = started(PLAN, true);
    progress.take({ kind: 'runStarted', run: FIRST });
    progress.take(done(FIRST, true));
    progress.take(done(SECOND, false));
    progress.end();
    expect(screenOf(writes)).toEqual([
      expect.stringMatching(/^\[2\/2\] vit fp16 8x3 graph: failed: out of memory/),
      '2 runs · 1 failed · 0 ms',
      '',
    ]);
  });
});

const [BUILD] = PLAN.builds;
if (BUILD === undefined) throw new Error('a plan with a build');
const TO_BUILD = { ...BUILD, args: ['--onnx=vit.onnx'] };
const WITH_BUILD: Plan = { ...PLAN, builds: [TO_BUILD] };

test('time left begins as the plan says, and counts builds', () => {
  let nowMs = 0;
  const { progress, writes } = started(WITH_BUILD, true, { now: () => new Date(nowMs), errLook: makeLook(100, false) });
  const left = () => /\d of .*? left/.exec(writes.at(-1) ?? '')?.[0];
  const ready = { kind: 'buildReady', build: TO_BUILD, how: 'built', buildS: 40 } as const;
  progress.take({ kind: 'buildStarted', build: TO_BUILD });
  const expected = [62, '0 of 2 runs + 0 of 1 engine · 0 ms · about 1 min 02 s left'];
  expect([totalEstimateS(WITH_BUILD, false), left()]).toEqual(expected);
  nowMs = 40_000;
  progress.take(ready);
  expect(left()).toBe('0 of 2 runs + 1 engine · 40.0 s · about 2.0 s left');
  nowMs = 42_000;
  progress.take(done(FIRST, true, 2));
  expect(left()).toBe('1 of 2 runs + 1 engine · 42.0 s · about 2.0 s left');
  progress.end();
  expect(screenOf(writes)).toEqual(['1 of 2 runs + 1 engine · 42.0 s', '']);
});

test('recordings answer in a tenth of a second each, and their builds are called recorded', () => {
  const recordings = { set: 'pair', folder: '/sets/pair', enginePool: 'pool', environment: {} };
  const look = { errLook: makeLook(100, false) };
  const terminal = started(WITH_BUILD, true, look, recordings);
  terminal.progress.take({ kind: 'buildStarted', build: TO_BUILD });
  terminal.progress.end();
  expect(terminal.writes[0]).toContain('0 of 2 runs + 0 of 1 engine · 0 ms · about 300 ms left');
  const pipe = started(WITH_BUILD, false, look, recordings);
  pipe.progress.take({ kind: 'buildReady', build: TO_BUILD, how: 'built', buildS: 40 });
  expect(pipe.writes).toEqual(['recorded build vit: in 40.0 s\n']);
});

test('lines that a narrower terminal has wrapped are erased with all their rows', () => {
  let columns = 60;
  const { progress, writes } = started(PLAN, true, { errLook: makeLook(() => columns, false) });
  progress.take({ kind: 'runStarted', run: FIRST });
  progress.take(done(FIRST, true));
  const [title = '', bar = ''] = screenOf(writes);
  columns = 40;
  progress.take({ kind: 'runStarted', run: SECOND });
  expect([title, bar].map((line) => Math.ceil(stringWidth(line) / columns))).toEqual([1, 2]);
  expect((writes.at(-1) ?? '').slice(0, 8)).toBe('\u001b[3A\u001b[0J');
  expect(screenOf([(writes.at(-1) ?? '').slice(8)]).filter((line) => stringWidth(line) >= columns)).toEqual([]);
  progress.end();
});
