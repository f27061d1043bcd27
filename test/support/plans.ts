import { type Precision, cellLabel } from '../../src/records/cell.ts';
import { imageCell } from './image-cell.ts';
import { type Plan, planSchema } from '../../src/records/plan.ts';

export interface WantedCell {
  readonly batch: number;
  /** Of all its runs together. */
  readonly seconds: number;
  readonly precision?: Precision;
  readonly cudaGraph?: boolean;
  /** Cells of one name share an engine. */
  readonly engine?: string;
}

/** A plan with one run of each cell, of which nothing but the times matters. */
export function planOfCells(wanted: readonly WantedCell[]): Plan {
  const cells = wanted.map(({ batch, cudaGraph = true, engine = 'engine', precision = 'fp16' }) => {
    const cell = imageCell({ model: 'vit', precision, batch, shapes: { input: [batch, 3] }, cudaGraph });
    return { cell, label: cellLabel(cell), buildRef: engine };
  });
  return planSchema.parse({
    schemaVersion: 1,
    matrix: 'made-up',
    tensorrt: '10.6',
    seed: 1,
    repeats: 1,
    retries: { times: 0, waitS: 0 },
    cells,
    builds: [...new Set(cells.map(({ buildRef }) => buildRef))].map((buildRef) => ({
      buildRef,
      model: 'vit',
      precision: 'fp16',
      label: 'vit',
      onnxPath: 'vit.onnx',
      enginePath: null,
      flags: [],
      args: [],
      timeoutS: 60,
    })),
    runs: cells.map(({ buildRef, cell: { cudaGraph, key, shapes } }, place) => ({
      role: 'timed',
      cellKey: key,
      buildRef,
      repeat: 1,
      args: [],
      timeoutS: 60,
      requested: { cudaGraph: cudaGraph === true, dataTransfers: false, spinWait: true, streams: 1, shapes },
      minQueries: 1,
      minWarmUpQueries: 0,
      estimateS: wanted[place]?.seconds ?? 0,
    })),
    notes: [],
  });
}
