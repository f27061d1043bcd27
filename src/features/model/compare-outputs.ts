import * as z from 'zod';

import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import type { InputDistribution } from '../../records/accuracy.ts';
import type { Shapes } from '../../records/cell.ts';
import { count } from '../../records/scalars.ts';
import { askHelper, type HelperContext, type ProgramAnswer, runProgram } from '../../tools/python/helper.ts';

/** Input of `python/compare_outputs.py`. */
export interface CompareJob {
  readonly reference: string;
  readonly variant: string;
  /** npz or npy; null for random values. */
  readonly data: string | null;
  /** Null for all samples of the file. */
  readonly samples: number | null;
  readonly seed: number;
  readonly distribution: InputDistribution;
  /** For an open batch. */
  readonly batch: number;
  readonly shapes: Shapes;
}

const NEEDS = 'numpy and onnxruntime';

export const COMPARISON = {
  script: 'compare_outputs.py',
  needs: NEEDS,
  answer: z.object({
    samples: z.number().int().min(1),
    outputs: z.record(
      z.string(),
      z.object({
        sqnrDb: z.number().nullable(),
        relativeError: z.number().min(0),
        cosineMin: z.number(),
        cosineMean: z.number(),
        maxAbsError: z.number().min(0),
        top1: z.object({ same: count, of: z.number().int().min(1) }).nullable(),
      }),
    ),
    versions: z.record(z.string(), z.string()),
  }),
};

/**
 * Runs the comparison with the user's Python.
 * @throws as `askHelper`
 */
export function compareOutputs(python: string, job: CompareJob, context: HelperContext) {
  return inTemporaryFolder('accuracy', (folder) => askHelper(COMPARISON, python, job, folder, context));
}

/**
 * Runs the user's command and returns its output.
 * @throws as `askHelper`
 */
export function runMetricCommand(command: readonly string[], context: HelperContext): Promise<ProgramAnswer> {
  return inTemporaryFolder('accuracy', (folder) => runProgram(command, folder, context, NEEDS));
}

/** The last word of the last line, as a number; null when it is none. */
export function readMetric(text: string): number | null {
  const word = text.trim().split(/\s+/).at(-1) ?? '';
  return word === '' || !Number.isFinite(Number(word)) ? null : Number(word);
}
