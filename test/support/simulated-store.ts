import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { seededRandom } from '../../src/matrix/plan/order.ts';
import type { BoundBy } from '../../src/records/bound.ts';
import { itemsPerS, type KeyedCell } from '../../src/records/cell.ts';
import type { RunFlag } from '../../src/records/outcome.ts';
import { openStore, type StoreDatabase } from '../../src/store/file/open.ts';
import { saveAccuracy } from '../../src/store/runs/model-accuracies.ts';
import { encodeLayers } from '../../src/store/runs/blob-codecs.ts';
import { RunWriter } from '../../src/store/runs/save-run.ts';
import { hashOf } from '../../src/text/canonical-json.ts';
import { imageCell } from './image-cell.ts';

export interface SimulatedFigures {
  readonly qps?: number;
  readonly p99Ms?: number;
  readonly contextMib?: number;
  readonly boundBy?: BoundBy;
}

export interface SimulatedMachine {
  readonly host?: string;
  readonly gpuUuid?: string;
  readonly tensorrt?: string;
  readonly powerLimitW?: number;
}

export interface SimulatedNights {
  readonly cells: readonly KeyedCell[];
  readonly nights: number;
  readonly repeats: number;
  /** Milliseconds; null when the run failed. */
  readonly value: (cell: number, night: number, repeat: number) => number | null;
  readonly commit?: (night: number) => string | null;
  readonly branch?: string | null;
  readonly driver?: (night: number) => string;
  readonly gpuName?: (night: number) => string;
  /** What else is known of the machine; TensorRT 10.6.0 when it is not given. */
  readonly machine?: (night: number) => SimulatedMachine;
  readonly build?: (night: number) => string;
  /** The engine of each cell; without it all have the one of `build`. */
  readonly engine?: (cell: number, night: number) => SimulatedEngine;
  /** What else a run measured; what is not given follows from its milliseconds. */
  readonly figures?: (cell: number, night: number, repeat: number) => SimulatedFigures;
  /** MHz; without it nobody watched the machine. */
  readonly clock?: (cell: number, night: number, repeat: number) => number;
  readonly flags?: (cell: number, night: number, repeat: number) => readonly RunFlag[];
  /** Seconds that a run takes; 1 when it is not given. */
  readonly wallS?: (cell: number) => number;
  /** Nights that are there already: more are added behind them. */
  readonly after?: number;
  /** `nightly` when it is not given; of several in one store each has a number of its own. */
  readonly matrix?: { readonly name: string; readonly number: number };
}

const MIGRATIONS = join(import.meta.dirname, '..', '..', 'migrations');

/** Cells of one model; every second one is FP8. */
export function simulatedCells(count: number): KeyedCell[] {
  return Array.from({ length: count }, (_, index) =>
    imageCell({ model: 'vit', precision: index % 2 === 0 ? 'fp16' : 'fp8', batch: index + 1 }),
  );
}

/** Standard normal numbers, the same for the same seed. */
export function normals(seed: number): () => number {
  const random = seededRandom(seed);
  return () => Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random());
}

export const nightDate = (night: number): string => new Date(Date.UTC(2026, 0, 1 + night)).toISOString().slice(0, 10);

const id = (prefix: string, ...numbers: number[]): string =>
  (prefix + numbers.map((number) => number.toString(16).padStart(5, '0')).join('')).padEnd(32, '0');

/** What a run with these flags is bound by. */
function boundOf(flags: readonly RunFlag[]): BoundBy {
  const has = (name: RunFlag['id']): boolean => flags.some((flag) => flag.id === name);
  if (flags.some((flag) => flag.id === 'contended' && flag.effect !== 'explained')) return 'contended';
  return has('hostBound') ? 'host' : has('powerLimited') ? 'power' : 'compute';
}

const INVOCATION = id('c', 0);

/** The id of the sweep of a night. @param matrix its number */
export const sweepOfNight = (night: number, matrix: number = 0): string => id('a', night, matrix);

let empty: Buffer | null = null;

/** An empty store, unless there is one: a copy, because all migrations take 60 ms of CPU. */
export function writeEmptyStore(path: string): void {
  if (existsSync(path)) return;
  if (empty !== null) return writeFileSync(path, empty);
  openStore(path, MIGRATIONS).close();
  empty = readFileSync(path);
}

/** Writes nights of made-up results through the program's own schema; their provenance says so. */
export function simulateNights(path: string, simulated: SimulatedNights): void {
  const { cells, nights, repeats, value, after = 0, matrix = { name: 'nightly', number: 0 } } = simulated;
  writeEmptyStore(path);
  const store = openStore(path, MIGRATIONS);
  const writer = new RunWriter(store.db);
  for (const cell of cells) writer.saveCell(cell);
  const db = store.db.$client;
  db.pragma('synchronous = OFF');
  db.exec(
    `insert or ignore into invocations (invocation_id, argv, env, banner) values ('${INVOCATION}', '["trtexec"]', '{}', '{}')`,
  );
  const environment = db.prepare(
    `insert or ignore into environments (environment_id, gpu_name, driver, tensorrt, host, gpu_uuid, power_limit_w) values (?, ?, ?, ?, ?, ?, ?)`,
  );
  const build = db.prepare(
    `insert or ignore into builds (build_id, model, flags, engine_mib, build_s) values (?, 'vit', '[]', 10, 60)`,
  );
  const saveEngine = engineWriter(store.db);
  const sweep = db.prepare(
    `insert into sweeps (sweep_id, source, matrix, provenance, state, started_at, finished_at, git_commit, git_branch, git_dirty, tool_version, tensorrt)
     values (?, 'run', ?, 'simulated', 'finished', ?, ?, ?, ?, 0, '0.1.0', '10.6')`,
  );
  const planned = db.prepare(`insert into sweep_cells (sweep_id, cell_key, repeats) values (?, ?, ?)`);
  const run = db.prepare(
    `insert into runs values (?, ?, 'timed', ?, ?, ?, null, null, 'simulated', ?, ?, ?, ?, ?, 0, null, 0, 0, '${INVOCATION}', '[]', null)`,
  );
  const measurement = db.prepare(
    `insert into measurements values (?, ?, 1, 0.9, 1000, 200, 0.4, 0.05, 0.9, ?, ?, ?, ?, ?)`,
  );
  const statistics = db.prepare(`insert into time_statistics values (?, ?, ?, ?, ?, ?, json_object('99', ?))`);
  const telemetry = db.prepare(
    `insert into run_telemetry (run_id, samples, sm_clock_mhz, clock_reasons, other_processes) values (?, 20, ?, '{}', '[]')`,
  );
  const flagged = db.prepare(`insert into run_flags values (?, ?, ?, ?, ?)`);
  db.transaction(() => {
    for (let night = after; night < after + nights; night += 1) {
      const driver = simulated.driver?.(night) ?? '580.1';
      const buildId = simulated.build?.(night) ?? id('e', 0);
      const gpuName = simulated.gpuName?.(night) ?? 'Simulated GPU';
      const machine = simulated.machine?.(night) ?? {};
      const environmentId = hashOf({ driver, gpuName, ...machine });
      const { gpuUuid = null, host = null, powerLimitW = null, tensorrt = '10.6.0' } = machine;
      environment.run(environmentId, gpuName, driver, tensorrt, host, gpuUuid, powerLimitW);
      build.run(buildId);
      const sweepId = sweepOfNight(night, matrix.number);
      const commit = simulated.commit?.(night) ?? null;
      const at = (time: string): string => `${nightDate(night)}T${time}Z`;
      sweep.run(sweepId, matrix.name, at('02:00:00.000'), at('03:00:00.000'), commit, simulated.branch ?? null);
      for (const [place, cell] of cells.entries()) {
        planned.run(sweepId, cell.key, repeats);
        const engine = simulated.engine?.(place, night);
        if (engine !== undefined) {
          saveEngine(engine, cell, { sweepId, environmentId, invocationId: INVOCATION, startedAt: at('02:00:30.000') });
        }
        for (let repeat = 1; repeat <= repeats; repeat += 1) {
          const runId = id('b', night, place, repeat, matrix.number);
          const ms = value(place, night, repeat);
          const [outcome, reason] = ms === null ? ['failed', 'outOfMemory'] : ['measured', null];
          const time = at(`02:${String(repeat).padStart(2, '0')}:00.000`);
          const wallS = simulated.wallS?.(place) ?? 1;
          const who = [runId, sweepId, cell.key, repeat, engine?.buildId ?? buildId, environmentId];
          run.run(...who, outcome, reason, time, wallS);
          if (ms === null) continue;
          if (simulated.clock) telemetry.run(runId, simulated.clock(place, night, repeat));
          const flags = simulated.flags?.(place, night, repeat) ?? [];
          for (const flag of flags) flagged.run(runId, flag.id, flag.effect, flag.value, flag.evidence);
          const {
            qps = 1000 / ms,
            p99Ms = 1.05 * ms,
            contextMib = 12.5,
            boundBy = boundOf(flags),
          } = simulated.figures?.(place, night, repeat) ?? {};
          measurement.run(runId, qps, ms, ms, contextMib, itemsPerS(cell.shapes, qps), boundBy);
          for (const metric of ['latency', 'gpuCompute']) {
            statistics.run(runId, metric, 0.99 * ms, Math.max(1.1 * ms, p99Ms), ms, ms, p99Ms);
          }
        }
      }
    }
  })();
  store.close();
}

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

export type SimulatedLayer = { readonly name: string; readonly ms: number; readonly origins: readonly string[] };

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
    return { index, name, timeMs: 100 * ms, averageMs: ms, medianMs: ms, percentage: (100 * ms) / total };
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
