/** All that the pins need of the inside of the program, so that a move of files changes this file alone. */
import { matrixIdentity } from '../../src/features/run/resume.ts';
import { hashOf } from '../../src/text/canonical-json.ts';
import { type Environment, UNKNOWN_ENVIRONMENT } from '../../src/records/environment.ts';
import type { Matrix } from '../../src/matrix/matrix.ts';
import type { Plan, PlannedBuild } from '../../src/records/plan.ts';
import { engineKeyOf } from '../../src/engines/engine-identity.ts';
import { runIdOf } from '../../src/run/measure-run.ts';

import { loadMatrix } from '../../src/matrix/load.ts';
import { makePlan } from '../../src/matrix/plan/make-plan.ts';
import { dialect } from '../support/plan-for.ts';

/** References and identities hold absolute paths of models: here this is where a matrix lies. */
const matrixOf = (text: string): Matrix =>
  loadMatrix('/pins/m.yaml', {
    cwd: '/',
    readText: (path) => (path === '/pins/m.yaml' ? text : null),
    hashFiles: () => new Map(),
    readInputs: () => null,
  });

/** A run and a profile of each cell, as that version of TensorRT spells them. */
export function planFor(version: string, text: string): Plan {
  const matrix = matrixOf(text);
  const options = { seed: 1, repeats: 2, builds: 1, profile: true, forcesTimingCaches: false };
  return makePlan(matrix, matrix.cells, dialect(version), options);
}

/** The key of an engine on a machine whose facts are fixed. */
export function engineKey(
  build: PlannedBuild,
  tensorrt: string,
  environment: Partial<Environment>,
  modelSha256: string,
): Promise<string> {
  const program = { env: {}, recordings: null };
  return engineKeyOf({ environment, plan: { tensorrt }, program }, build, modelSha256);
}

/** As the store computes it of all that is known of a machine. */
export function environmentId(environment: Partial<Environment>): string {
  return hashOf({ ...UNKNOWN_ENVIRONMENT, ...environment });
}

/** What `--resume` compares, to see whether a matrix still means the same. */
export function identityOf(matrix: string): string {
  return matrixIdentity(matrixOf(matrix));
}

export const runId = runIdOf;
