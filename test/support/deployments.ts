import type { Deployment } from '../../src/judge/deployment.ts';
import type { KeyedCell } from '../../src/records/cell.ts';
import { imageCell } from './image-cell.ts';
import type { Accuracy } from '../../src/records/accuracy.ts';

export function choiceCell(
  precision: KeyedCell['precision'],
  batch: number,
  changes: Partial<KeyedCell> = {},
): KeyedCell {
  return imageCell({ model: 'vit', precision, batch, dataTransfers: true, ...changes });
}

export function accuracyOf(sqnrDb: number | null): Accuracy {
  return {
    sqnrDb,
    cosineMin: 0.99,
    cosineMean: 0.999,
    maxAbsError: 0.1,
    relativeError: sqnrDb === null ? 0 : 10 ** (-sqnrDb / 20),
    top1: { same: 8, of: 8 },
    samples: 8,
    custom: null,
  };
}

/** A deployment that answers one batch after the other, without a pause. */
export function deployment(cell: KeyedCell, latencyMs: number, changes: Partial<Deployment> = {}): Deployment {
  const throughputQps = 1000 / latencyMs;
  return {
    cell,
    runsQps: [throughputQps],
    runsLatencyMs: [latencyMs],
    throughputQps,
    throughputFrom: 'counted',
    itemsPerS: throughputQps * (cell.shapes['input']?.[0] ?? 1),
    latencyMs,
    p99Ms: latencyMs * 1.01,
    engineMib: null,
    contextMib: null,
    tunedBatch: null,
    costs: { buildS: null, loadS: null, refitMs: null, memoryMib: null },
    energy: null,
    efficiency: null,
    accuracy: null,
    realPrecisionShare: null,
    ...changes,
  };
}
