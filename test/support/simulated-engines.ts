import type { KeyedCell } from '../../src/records/cell.ts';
import { saveAccuracy } from '../../src/store/runs/accuracies.ts';
import { encodeLayers } from '../../src/store/runs/blob-codecs.ts';
import type { StoreDatabase } from '../../src/store/file/open.ts';

/** A made-up engine, with what a sweep knows of it. */
export interface SimulatedEngine {
  readonly buildId: string;
  readonly engineMib?: number;
  /** Signal to noise ratio of its outputs. */
  readonly sqnrDb?: number;
  /** Share of its layers that compute in the precision of its cell, from 0 to 1. */
  readonly precisionShare?: number;
  /** Its layers, profiled where it was measured first. */
  readonly layers?: readonly SimulatedLayer[];
}

export interface SimulatedLayer {
  readonly name: string;
  readonly ms: number;
  readonly origins: readonly string[];
}

/** Where an engine was measured first. */
interface Place {
  readonly sweepId: string;
  readonly environmentId: string;
  readonly invocationId: string;
  readonly startedAt: string;
}

const LAYERS = 20;

/** @returns writes an engine that is not there yet, with its accuracy and its layers */
export function engineWriter(db: StoreDatabase): (engine: SimulatedEngine, cell: KeyedCell, place: Place) => void {
  const client = db.$client;
  const build = client.prepare(
    `insert or ignore into builds (build_id, model, model_sha256, flags, engine_mib, build_s) values (?, ?, ?, '[]', ?, 60)`,
  );
  const run = client.prepare(
    `insert into runs values (?, ?, 'profile', ?, 1, ?, null, null, 'simulated', ?, 'measured', null, ?, 1, 0, null, 0, 0, ?, '[]', null)`,
  );
  const layers = client.prepare(`insert into layer_profiles values (?, ?, ?, ?)`);
  const known = new Set<string>();
  return (engine, cell, { sweepId, environmentId, invocationId, startedAt }) => {
    const { buildId, engineMib = 10, layers: profiled, precisionShare, sqnrDb } = engine;
    if (known.has(buildId)) return;
    known.add(buildId);
    const modelSha256 = buildId.repeat(2);
    const isNew = build.run(buildId, cell.model, modelSha256, engineMib).changes > 0;
    if (!isNew) return;
    if (sqnrDb !== undefined && cell.precision !== 'unstated') {
      saveAccuracy(db, {
        accuracyId: buildId,
        sweepId,
        model: cell.model,
        precision: cell.precision,
        precisionVia: cell.precisionVia,
        referenceSha256: '0'.repeat(64),
        variantSha256: modelSha256,
        // Other inputs of every cell: its accuracies have a history of their own.
        inputs: { kind: 'file', sha256: cell.key.repeat(2) },
        accuracy: {
          sqnrDb,
          relativeError: 10 ** (-sqnrDb / 20),
          cosineMin: 0.999,
          cosineMean: 0.999,
          maxAbsError: 0.1,
          top1: null,
          samples: 64,
          custom: null,
        },
        versions: {},
        provenance: 'simulated',
        measuredAt: startedAt,
      });
    }
    if (precisionShare === undefined && profiled === undefined) return;
    const runId = `f${buildId.slice(1)}`;
    run.run(runId, sweepId, cell.key, buildId, environmentId, startedAt, invocationId);
    if (profiled !== undefined) layers.run(runId, 100, profiled.length, profiledLayers(cell, profiled));
    else layers.run(runId, null, LAYERS, layersOf(cell, precisionShare ?? 0));
  };
}

function profiledLayers({ precision }: KeyedCell, layers: readonly SimulatedLayer[]): Buffer {
  const total = layers.reduce((sum, { ms }) => sum + ms, 0);
  const profile = layers.map(({ name, ms }, index) => {
    const percentage = (100 * ms) / total;
    return { index, name, timeMs: 100 * ms, averageMs: ms, medianMs: ms, percentage };
  });
  const rows = layers.map(({ name, origins }, index) => layer(index, name, `sm90_${name}`, precision, origins));
  return encodeLayers({ profile, layers: rows });
}

function layersOf({ precision }: KeyedCell, share: number): Buffer {
  const layers = Array.from({ length: LAYERS }, (_, index) =>
    layer(index, `layer${index}`, null, index < Math.round(share * LAYERS) ? precision : 'fp32'),
  );
  return encodeLayers({ profile: null, layers });
}

function layer(index: number, name: string, tactic: string | null, type: string, origins: readonly string[] = []) {
  const tensors = [{ name: 'x', dimensions: [1, 64], type, format: null }];
  return { index, name, type: 'MatrixMultiply', tactic, inputs: tensors, outputs: tensors, origins };
}
