import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { explainChange } from '../../../src/features/why/explain-change.ts';
import { resolvePoints } from '../../../src/selection/cell-points.ts';
import type { Io } from '../../../src/cli/io.ts';
import { withRunsOf } from '../../../src/selection/runs-of-paths.ts';
import { whySides } from '../../../src/features/why/why-sides.ts';
import type { Explanation } from '../../../src/features/why/text.ts';
import { makeCases, type Truth, type WhyCase, writeCase } from './cases.ts';

export interface ScoredCase {
  readonly name: string;
  readonly truth: Truth;
  readonly said: string;
  readonly isRight: boolean;
  readonly explanation: Explanation | null;
}

/** Each case through the files on disk, as `bench why BASE HEAD` reads them. */
export async function scoreCases(seed: number, io: Io): Promise<ScoredCase[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-why-'));
  try {
    const scored: ScoredCase[] = [];
    for (const [place, one] of makeCases(seed).entries()) {
      scored.push(await scoreCase(one, join(folder, String(place)), io));
    }
    return scored;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function scoreCase(one: WhyCase, folder: string, io: Io): Promise<ScoredCase> {
  const explanation = await withRunsOf(writeCase(one, folder), io, async ({ db }, sweeps) => {
    const [a = '', b = ''] = sweeps.map(({ sweepId }) => sweepId);
    const { base, head } = await resolvePoints(db, null, [a, b], io);
    const [was, is] = [base, head].map((point) => ({
      cell: point.cell,
      sweepIds: point.sweeps.map(({ sweepId }) => sweepId),
      runId: null,
      name: point.ref,
    }));
    return was === undefined || is === undefined ? null : explainChange(whySides(db, was, is), null);
  });
  const said = saidOf(explanation);
  return { name: one.name, truth: one.truth, said, isRight: isRight(one.truth, said), explanation };
}

function saidOf(explanation: Explanation | null): string {
  if (explanation === null) return 'no answer';
  if (explanation.outcome !== 'explained') return explanation.outcome;
  return explanation.causes[0]?.kind ?? 'no cause';
}

function isRight(truth: Truth, said: string): boolean {
  return truth.kind === 'nothing'
    ? said === 'noDifference' || said === 'notExplained'
    : truth.causes.some((cause) => cause === said);
}
