import { hostname } from 'node:os';

import { toolVersion } from '../cli/store-location.ts';
import { MATRIX_DEFAULTS } from '../matrix/schema/defaults.ts';
import { NO_GATE } from '../records/gate-settings.ts';
import { NO_TENSORRT, type Plan, type PlannedCell } from '../records/plan.ts';
import type { CellKey } from '../records/scalars.ts';
import { newSweep, type Sweep } from '../records/sweep.ts';
import type { TrtexecProgram } from '../trtexec/program/find-trtexec.ts';
import type { ConverterPython } from '../variants/variants.ts';
import type { StoredPlan } from './stored-plan.ts';

/** Null with recordings, and if no cell needs it. */
export function trtexecOf({ tensorrt }: Plan, { file, recordings }: TrtexecProgram): string | null {
  return recordings === null && tensorrt !== NO_TENSORRT ? file : null;
}

/** The sweep that begins with a plan, with facts from the plan, the program and `stated`. */
export function plannedSweep(
  plan: Plan,
  program: TrtexecProgram,
  stated: Pick<Sweep, 'sweepId' | 'startedAt'> & Partial<Sweep>,
): Sweep {
  return newSweep({
    source: 'run',
    matrix: plan.matrix,
    provenance: program.provenance,
    recordingSet: program.recordings?.set ?? null,
    seed: plan.seed,
    toolVersion: toolVersion(),
    trtexec: trtexecOf(plan, program),
    tensorrt: plan.tensorrt === NO_TENSORRT ? null : plan.tensorrt,
    host: program.recordings === null ? hostname() : null,
    ...stated,
  });
}

/** Keys of the cells of a matrix that a plan lacks. */
export function leftOutOf({ cells }: { readonly cells: readonly Pick<PlannedCell, 'cell'>[] }, plan: Plan): CellKey[] {
  const planned = new Set(plan.cells.map(({ cell }) => cell.key));
  return cells.flatMap(({ cell }) => (planned.has(cell.key) ? [] : cell.key));
}

/** The plan in its stored form; without further settings, nothing is checked again and no runs follow. */
export function storedPlanOf(
  plan: Plan,
  program: TrtexecProgram,
  converter: ConverterPython | null,
  settings: Pick<StoredPlan, 'telemetry' | 'lockClocks' | 'coolDown' | 'numa'> & Partial<StoredPlan>,
): StoredPlan {
  return {
    program: {
      trtexec: trtexecOf(plan, program),
      trtexecSha256: null,
      replayFolder: program.recordings?.folder ?? null,
      python: converter?.interpreter ?? null,
    },
    more: null,
    search: null,
    matrix: null,
    gpus: null,
    slurmRun: null,
    experiment: null,
    gate: NO_GATE,
    pairs: null,
    leftOut: null,
    keptLastGoodBytes: MATRIX_DEFAULTS.keptLastGoodBytes,
    ...settings,
    plan,
  };
}
