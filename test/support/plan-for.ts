import { MatrixError } from '../../src/errors.ts';
import type { Plan } from '../../src/records/plan.ts';
import { parseTensorrtVersion } from '../../src/text/version.ts';
import { Dialect } from '../../src/trtexec/arguments/dialect.ts';
import { makePlan } from '../../src/matrix/plan/make-plan.ts';
import { matrixFrom } from './matrices.ts';

export function dialect(version: string): Dialect {
  const parsed = parseTensorrtVersion(version);
  if (parsed === null) throw new Error(version);
  return new Dialect(parsed);
}

/** One run of each cell of a matrix, as that version of TensorRT spells it. */
export function planFor(version: string, text: string, profile = false): Plan {
  const matrix = matrixFrom(text);
  return makePlan(matrix, matrix.cells, dialect(version), {
    seed: 1,
    repeats: 1,
    builds: 1,
    profile,
    forcesTimingCaches: false,
  });
}

/** What that version cannot do; nothing when it can do all. */
export function problems(version: string, text: string): readonly string[] {
  try {
    planFor(version, text);
  } catch (error) {
    if (error instanceof MatrixError) return error.lines;
    throw error;
  }
  return [];
}
