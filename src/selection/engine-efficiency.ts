import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';

import * as z from 'zod';

import { hashModel } from '../files/hashes.ts';
import { inTemporaryFolder } from '../process/temporary-folder.ts';
import type { Io } from '../cli/io.ts';
import { EnvironmentLackingError, UsageError } from '../errors.ts';
import { valuesOf } from '../judge/value-rule.ts';
import type { EngineConditions, ProfiledEngine } from '../layers/profiled-engine.ts';
import type { LayerFacts } from '../layers/layer-facts.ts';
import { type EngineEfficiency, engineEfficiency, type ShapedModel } from '../layers/work/efficiency.ts';
import { networkWorkSchema } from '../layers/work/layer-work.ts';
import type { KeyedCell, Shapes } from '../records/cell.ts';
import { type CellRun, isMeasured } from '../records/run.ts';
import type { CellKey, RunId, SweepId } from '../records/scalars.ts';
import { median } from '../statistics/order-statistics.ts';
import { findCells } from '../store/cells.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { cellRunsOf } from '../store/runs/cell-runs.ts';
import { buildRunOf } from '../store/builds/builds.ts';
import { showRun } from '../store/runs/show-run.ts';
import { findBuilds, findEnvironments } from '../store/sweeps/environments.ts';
import { printable } from '../text/printable.ts';
import { readOnnxFacts } from '../tools/onnx/onnx-file.ts';
import { flagValue } from '../trtexec/flags/flag-table.ts';
import { askHelper, pythonOf } from '../tools/python/helper.ts';
import { layerSources, layersOfRun } from './engines-of-cells.ts';
import { onnxProblem } from './find-runs.ts';

export interface EngineModel {
  readonly name: string;
  readonly path: string;
}

const NO_MODEL = 'the ONNX model is not known here';
export const UNNAMED_MODEL = `${NO_MODEL}: --onnx FILE names it`;

/** @throws UsageError for a file that is not an ONNX model */
export async function namedModel(named: string, cwd: string): Promise<EngineModel> {
  const path = resolve(cwd, named);
  try {
    await readOnnxFacts(path);
  } catch (error) {
    throw new UsageError(`--onnx ${printable(named)}: ${onnxProblem(error)}`, { cause: error });
  }
  return { name: basename(path), path };
}

/**
 * The ONNX file from which bench built the engine of a run, if it is unchanged.
 * @returns a text if it is unknown
 */
async function modelOfRun(db: StoreDatabase, runId: RunId): Promise<EngineModel | string> {
  const built = showRun(db, buildRunOf(db, runId)?.runId ?? runId);
  const path = flagValue(built?.argv ?? [], '--onnx');
  const buildId = built?.buildId ?? '';
  const sha256 = findBuilds(db, [buildId]).get(buildId)?.modelSha256 ?? null;
  // Paths of recordings and of other machines lead nowhere, or to another file.
  if (built === null || path === null || sha256 === null) return NO_MODEL;
  const status = await stat(path).catch(() => null);
  if (status === null) return `the ONNX model no longer exists: ${printable(path)}`;
  const builtAt = Date.parse(built.startedAt ?? '');
  const isSame = status.mtimeMs <= builtAt || (await hashModel(path).catch(() => null)) === sha256;
  return isSame
    ? { name: basename(path), path }
    : `the ONNX model changed since the engine was built: ${printable(path)}`;
}

/** Facts about a profiled engine in addition to its layers. */
type EngineCircumstances = Awaited<ReturnType<typeof storedCircumstances>>;

const UNKNOWN: EngineConditions = {
  computeCapability: null,
  gpuName: null,
  maxSmClockMhz: null,
  mig: null,
  smClockMhz: null,
};

export function statedCircumstances({ stated }: ProfiledEngine, model: EngineModel | null): EngineCircumstances {
  return { shapes: {}, conditions: UNKNOWN, gpuComputeMs: null, ...stated, model: model ?? UNNAMED_MODEL };
}

/** @param cell the requested cell, used if the profile belongs to none */
export async function storedCircumstances(
  db: StoreDatabase,
  { cellKey, runId, sweepId }: Pick<ProfiledEngine, 'cellKey' | 'runId' | 'sweepId'>,
  cell: KeyedCell | null,
  named: EngineModel | null,
) {
  const run = showRun(db, runId);
  const own = cellKey === null ? cell : (findCells(db, [cellKey]).get(cellKey) ?? cell);
  const { environment = UNKNOWN, telemetry = null } = run ?? {};
  const timed = own === null || sweepId === null ? [] : cellRunsOf(db, [sweepId], [own.key]).filter(isMeasured);
  const clock = telemetry?.smClockMhz ?? median(timed.flatMap(({ smClockMhz }) => smClockMhz ?? []));
  const found = named ?? (await modelOfRun(db, runId));
  const { computeCapability, gpuName, maxSmClockMhz, mig } = environment;
  const conditions: EngineConditions = { computeCapability, gpuName, maxSmClockMhz, mig, smClockMhz: clock };
  return {
    model: typeof found === 'string' ? `${found}; --onnx FILE names it` : found,
    shapes: own?.shapes ?? {},
    conditions,
    /** Median of the timed runs of its cell and sweep in ms. */
    gpuComputeMs: median(valuesOf(timed, 'gpuComputeMs')),
  };
}

const MEASURING = {
  script: 'measure_work.py',
  needs: 'onnx',
  answer: z.object({ networks: z.array(z.union([networkWorkSchema, z.object({ problem: z.string() })])) }),
};

const TIMEOUT_MS = 120_000;

/**
 * Asks the user's Python once for the work of all models at these shapes.
 * @returns a function that computes the efficiency of an engine from its circumstances and the time of a query
 * @throws InterruptedError on Ctrl-C
 */
export async function efficiencyReader(all: readonly EngineCircumstances[], { cwd, env, signal, spawn }: Io) {
  const jobs = new Map<string, object>();
  for (const { model, shapes } of all) {
    if (typeof model !== 'string') jobs.set(jobKey(model, shapes), { model: model.path, shapes });
  }
  const context = { cwd, env, spawn, signal, timeoutMs: TIMEOUT_MS };
  const ask = (folder: string) =>
    askHelper(MEASURING, pythonOf(undefined, env), { jobs: [...jobs.values()] }, folder, context);
  const answer =
    jobs.size === 0
      ? { networks: [] }
      : await inTemporaryFolder('work', ask).catch((error: unknown) => {
          if (error instanceof EnvironmentLackingError) return { problem: error.message };
          throw error;
        });
  const places = [...jobs.keys()];
  const modelAt = ({ model, shapes }: EngineCircumstances): ShapedModel | string => {
    if (typeof model === 'string') return model;
    const place = places.indexOf(jobKey(model, shapes));
    const work = 'problem' in answer ? answer : (answer.networks[place] ?? { problem: NO_MODEL });
    return 'problem' in work ? printable(work.problem) : { name: model.name, work };
  };
  return (layers: readonly LayerFacts[], known: EngineCircumstances, ms: number | null) =>
    engineEfficiency(layers, modelAt(known), known.conditions, ms);
}

function jobKey({ path }: EngineModel, shapes: Shapes): string {
  return JSON.stringify([path, shapes]);
}

/**
 * Efficiency of the engine of each cell, by cell key, from the layers of its engine and the times of its own runs.
 * Omits cells whose ONNX model is not here.
 */
export async function cellEfficiencies(
  db: StoreDatabase,
  cells: readonly KeyedCell[],
  runs: readonly CellRun[],
  sweepIds: readonly SweepId[],
  io: Io,
): Promise<Map<CellKey, EngineEfficiency>> {
  const byCell = Map.groupBy(runs.filter(isMeasured), ({ cellKey }) => cellKey);
  const environments = findEnvironments(db, [...new Set(runs.map(({ environmentId }) => environmentId))]);
  const asked = [];
  for (const [runId, sources] of layerSources(db, cells, runs, sweepIds)) {
    const model = await modelOfRun(db, runId);
    const profiled = typeof model === 'string' ? null : layersOfRun(db, runId);
    if (profiled === null) continue;
    for (const { cell, isOwn } of sources) {
      // Layer times of another cell do not apply to this one.
      const layers = isOwn ? profiled : profiled.map((layer) => ({ ...layer, averageMs: 0 }));
      const own = byCell.get(cell.key) ?? [];
      const environment = environments.get(own[0]?.environmentId ?? '');
      if (environment === undefined) continue;
      const conditions = { ...environment, smClockMhz: median(own.flatMap((run) => run.smClockMhz ?? [])) };
      const known = { model, shapes: cell.shapes, conditions, gpuComputeMs: null };
      asked.push({ key: cell.key, layers, known, ms: queryMs(cell, own) });
    }
  }
  const circumstances = asked.map(({ known }) => known);
  const efficiencyOf = await efficiencyReader(circumstances, io);
  return new Map(asked.map(({ key, layers, known, ms }) => [key, efficiencyOf(layers, known, ms).engine]));
}

/** GPU time of a query; with several streams the time from one query to the next, because queries overlap. */
function queryMs({ streams }: KeyedCell, runs: readonly CellRun[]): number | null {
  if (streams === 1) return median(valuesOf(runs, 'gpuComputeMs'));
  const throughputQps = median(valuesOf(runs, 'throughputQps'));
  return throughputQps ? 1000 / throughputQps : null;
}
