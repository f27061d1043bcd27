import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import * as z from 'zod';

import { type KeyedCell, PRECISIONS } from '../../src/records/cell.ts';
import { imageCell } from '../../test/support/image-cell.ts';
import { ROOT } from '../processes.ts';

const visitSchema = z.strictObject({
  name: z.enum(['h100', 'h200', 'h100-slower']),
  startedAt: z.string(),
  gpu: z.string(),
  driver: z.string(),
  tensorrt: z.string(),
  cells: z.array(
    z.strictObject({ model: z.string(), precision: z.enum(PRECISIONS), batch: z.int(), cudaGraph: z.boolean() }),
  ),
  /** Cell, sweep, engine of that model and precision, 1 for a run of a pair, start and wall time in s, center and p99 in ms. */
  runs: z.array(z.tuple([z.int(), z.int(), z.int(), z.int(), z.number(), z.number(), z.number(), z.number()])),
});

export interface RealRun {
  readonly sweep: number;
  /** 0 is the first one measured; others are of a model with more layers. */
  readonly engine: number;
  readonly isPair: boolean;
  /** Of the whole process, with the start of trtexec, seconds. */
  readonly wallS: number;
  /** Center of the GPU compute times, ms. */
  readonly ms: number;
}

export interface Visit {
  readonly name: z.infer<typeof visitSchema>['name'];
  readonly cells: readonly KeyedCell[];
  /** Whether it has too few runs to draw each of them once. */
  readonly isReused: boolean;
  /** Of each cell, in the order in which they were measured. */
  readonly runs: readonly (readonly RealRun[])[];
}

const FILE = join(ROOT, 'test', 'fixtures', 'real-runs', 'runs.json');

/** The runs of test/fixtures/real-runs, measured on GPUs. */
export function readVisits(): Visit[] {
  const { visits } = z.strictObject({ visits: z.array(visitSchema) }).parse(JSON.parse(readFileSync(FILE, 'utf8')));
  return visits.map(({ cells, name, runs }) => ({
    name,
    isReused: name === 'h200',
    cells: cells.map(({ batch, cudaGraph, model, precision }) =>
      imageCell({ model, precision, precisionVia: precision === 'fp16' ? 'flag' : 'onnx', batch, cudaGraph }),
    ),
    runs: cells.map((_, place) =>
      runs.flatMap(([cell, sweep, engine, pair, , wallS, ms]): RealRun[] =>
        cell === place ? [{ sweep, engine, isPair: pair === 1, wallS, ms }] : [],
      ),
    ),
  }));
}
