import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';

import { LiveProgress } from '../../src/cli/live-progress.ts';
import type { Plan, PlannedRun } from '../../src/records/plan.ts';
import type { SweepEvent } from '../../src/run/sweep-context.ts';
import { makeLook } from '../../src/terminal/look.ts';
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

function started(plan: Plan, isInteractive: boolean) {
  const writes: string[] = [];
  const io = {
    ...testIo(),
    isInteractive,
    errLook: makeLook(COLUMNS, false),
    err: (text: string) => void writes.push(text),
  };
  return { progress: new LiveProgress(plan, io), writes };
}

function done(run: PlannedRun, isMeasured: boolean): SweepEvent {
  return {
    kind: 'runDone',
    run,
    runId: '337263b3c9ad244d6d96f9b286798a12',
    outcome: isMeasured ? { kind: 'measured', evidence: [] } : { kind: 'failed', reason: 'outOfMemory', evidence: [] },
    gpuComputeMs: isMeasured ? 0.5 : null,
    throughputQps: isMeasured ? 2000 : null,
    before: null,
    reading: null,
    wallS: 1,
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
      expect.stringMatching(/^█{12}░{12} 1\/2 · /),
      'last: vit fp16 1x3 graph: 0.5000 ms GPU, 2000 queries/s',
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
      '2 of 2 runs done · 1 failed · 0 ms',
      '',
    ]);
  });
});

test('in a pipe each result is a line, and nothing is redrawn', () => {
  const { progress, writes } = started(PLAN, false);
  progress.take({ kind: 'runStarted', run: FIRST });
  progress.take(done(FIRST, true));
  progress.end();
  expect(writes).toEqual(['[1/2] vit fp16 1x3 graph: 0.5000 ms GPU, 2000 queries/s\n']);
});
