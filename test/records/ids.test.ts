import { expect, test } from 'vitest';

import type { BuildId, CellKey, RunId, SweepId } from '../../src/records/scalars.ts';

// `npm run check` compiles this file: without an error on the marked lines, it fails.
test('ids of different things are different types; plain text fits each', () => {
  const sweepId: SweepId = 'a'.repeat(32);
  const runId: RunId = 'b'.repeat(32);
  // @ts-expect-error: a sweep is not a run
  const wrongRun: RunId = sweepId;
  // @ts-expect-error: a run is not a cell
  const wrongCell: CellKey = runId;
  // @ts-expect-error: a run is not a build
  const wrongBuild: BuildId = runId;
  expect([wrongRun, wrongCell, wrongBuild]).toEqual([sweepId, runId, runId]);
});
