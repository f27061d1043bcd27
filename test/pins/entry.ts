/** All that the pins need of the inside of the program, so that a move of files changes this file alone. */
import { matrixIdentity } from '../../src/commands/changed-since.ts';
import { hashOf } from '../../src/domain/cell-key.ts';
import { type Environment, UNKNOWN_ENVIRONMENT } from '../../src/domain/environment.ts';
import type { PlannedBuild } from '../../src/domain/plan.ts';
import { engineKeyOf } from '../../src/ingest/engine-identity.ts';
import { runIdOf } from '../../src/ingest/measure-run.ts';

import { matrixFrom } from '../support/matrices.ts';

export { planFor } from '../support/plan-for.ts';

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
  return matrixIdentity(matrixFrom(matrix));
}

export const runId = runIdOf;
