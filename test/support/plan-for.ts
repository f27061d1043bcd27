import { MatrixError } from '../../src/domain/errors.ts';
import type { Plan } from '../../src/domain/plan.ts';
import { parseTensorrtVersion } from '../../src/domain/tensorrt-version.ts';
import { Dialect } from '../../src/plan/dialect.ts';
import { makePlan } from '../../src/plan/make-plan.ts';
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
