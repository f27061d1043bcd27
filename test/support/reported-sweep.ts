import { imageCell } from './image-cell.ts';
import { UNKNOWN_ENVIRONMENT } from '../../src/records/environment.ts';
import { newSweep } from '../../src/records/sweep.ts';
import { NOT_JUDGED } from '../../src/features/export/reported-sweep.ts';
import type { CellJudgement, ReportedCell, ReportedSweep } from '../../src/features/export/reported-sweep.ts';
import type { CellRun } from '../../src/records/run.ts';
import { NO_VALUES } from './no-values.ts';

export const SWEEP = newSweep({
  sweepId: '0123456789abcdef0123456789abcdef',
  source: 'run',
  matrix: 'nightly',
  provenance: 'simulated',
  state: 'finished',
  startedAt: '2026-11-20T02:00:00.000Z',
  finishedAt: '2026-11-20T02:30:00.000Z',
  seed: 1,
  toolVersion: '0.1.0',
  tensorrt: '10.6.0',
  host: 'rack-7',
  commit: 'abcdef0123456789abcdef0123456789abcdef01',
  branch: 'main',
  dirty: false,
});

/** @param gpuComputeMs of each run; null for one that failed */
export function reportedCell(
  model: string,
  gpuComputeMs: readonly (number | null)[],
  judgement: CellJudgement = NOT_JUDGED,
): ReportedCell {
  const cell = imageCell({ model, precision: 'fp8', batch: 8, shapes: { input: [8, 3] } });
  const runs = gpuComputeMs.map((value, repeat): CellRun => ({
    runId: `run-${repeat}`,
    sweepId: SWEEP.sweepId,
    cellKey: cell.key,
    role: 'timed',
    commit: SWEEP.commit,
    dirty: false,
    buildId: null,
    engineKey: null,
    smClockMhz: null,
    derivedQps: null,
    centres: {},
    repeat,
    startedAt: '2026-11-20T02:00:01.000Z',
    wallS: 4.5,
    queries: 1000,
    outcome:
      value === null ? { kind: 'failed', reason: 'outOfMemory', evidence: [] } : { kind: 'measured', evidence: [] },
    flags: [],
    boundBy: null,
    environmentId: 'here',
    values:
      value === null
        ? NO_VALUES
        : { ...NO_VALUES, gpuComputeMs: value, throughputQps: 1000 / value, itemsPerS: 8000 / value, engineMib: 2 },
  }));
  const name = `${model} fp8 8x3 graph`;
  return { cell, name, metric: 'gpuComputeMs', owner: null, runs, judgement, recent: [1, 1, 1.1] };
}

type Judged = Exclude<CellJudgement, { readonly kind: 'values' }>;
type Said = 'slower' | 'faster' | 'same' | 'unclear';

export function compared(verdict: Said, base: number, head: number): Judged {
  const changePercent = (head / base - 1) * 100;
  const ciPercent = [changePercent - 0.2, changePercent + 0.2] as const;
  return { ...NOT_JUDGED, kind: 'compared', verdict, base, head, changePercent, ciPercent, mdePercent: 0.5 };
}

/** As the gate says it, of a reference level and the value of the sweep. */
export function judged(verdict: Said, base: number, head: number, findings: CellJudgement['findings'] = []): Judged {
  return { ...compared(verdict, base, head), kind: 'judged', metric: 'gpuComputeMs', findings };
}

export function reportedSweep(cells: readonly ReportedCell[]): ReportedSweep {
  return {
    sweeps: [SWEEP],
    ref: 'HEAD',
    baseRef: 'main',
    baseSweep: { ...SWEEP, commit: '1111111111111111111111111111111111111111' },
    shift: null,
    geometricMean: null,
    notes: [],
    gate: null,
    cells,
    environments: new Map([['here', { ...UNKNOWN_ENVIRONMENT, gpuName: 'NVIDIA H200' }]]),
  };
}
