import { resolve } from 'node:path';

import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import type { KeyedCell, Shapes } from '../../records/cell.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { UsageError } from '../../errors.ts';
import type { LayerInfo } from '../../layers/layer-info.ts';
import { fixedSize, type OnnxTensorInfo } from '../../tools/onnx/facts.ts';
import { printable } from '../../text/printable.ts';
import { stringOrNull } from '../../text/unknown-values.ts';
import { readStoredPlan } from '../../run/stored-plan.ts';
import { type EngineBinding, tritonConfig, type TritonModel, tritonUnknowns } from './triton-config.ts';
import { buildRunOf } from '../../store/builds/build-runs.ts';
import { findCells } from '../../store/cells.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import type { Io } from '../../cli/io.ts';
import { namedRun, storedRun } from '../../selection/named-run.ts';
import { processOf, type StartedProcess } from '../repro/index.ts';

export interface TritonConfig {
  readonly runId: string;
  readonly text: string;
  readonly notes: readonly string[];
}

/** Triton's `config.pbtxt` for the engine of a run, or of the fastest run of a cell. */
export async function tritonConfigOf(store: OpenStore, name: string, io: Io): Promise<TritonConfig> {
  const { db } = store;
  const run = storedRun(db, namedRun(db, name));
  const cell = run.cellKey === null ? null : (findCells(db, [run.cellKey]).get(run.cellKey) ?? null);
  if (cell === null) {
    throw new UsageError(
      `run ${printable(run.runId.slice(0, 8))} is a build and belongs to no cell: name a cell or one of its timed runs`,
    );
  }
  const harness = cell.harness ?? null;
  if (harness !== null) {
    throw new UsageError(
      `run ${printable(run.runId.slice(0, 8))} was measured by ${printable(harness.name)}, not by trtexec: it has no engine for Triton`,
    );
  }
  const built = buildRunOf(db, run.runId);
  const builder = built === null ? null : storedRun(db, built.runId);
  const plan = builder === null ? null : readStoredPlan(planOf(db, builder.sweepId));
  const process = builder === null ? null : await processOf(builder, store.path, plan);
  const bindings = await bindingsOf(cell, process, io.cwd);
  const least = shapesIn(process, '--minShapes=', Object.keys(cell.shapes));
  const most = shapesIn(process, '--maxShapes=', Object.keys(cell.shapes));
  const inputs = bindings.inputs.map((input) => withProfile(input, least, most));
  const { throughputQps = null } = run.measurement ?? {};
  const model: TritonModel = {
    label: cellLabel(cell),
    runId: run.runId,
    provenance: run.provenance,
    throughputQps,
    gpuName: stringOrNull(run.environment['gpuName']),
    tensorrt: stringOrNull(run.environment['tensorrtLibrary'] ?? run.environment['tensorrt']),
    source: bindings.source,
    inputs,
    outputs: bindings.outputs,
    maxBatch: maxBatchOf(inputs, bindings.outputs, most),
    cudaGraph: cell.cudaGraph === true,
    streams: cell.streams,
  };
  return { runId: run.runId, text: tritonConfig(model), notes: tritonUnknowns(model) };
}

interface Bindings {
  readonly source: string;
  readonly inputs: readonly EngineBinding[];
  readonly outputs: readonly EngineBinding[];
}

/** As the engine lists them, else as its ONNX model states them, else what the cell says of its inputs. */
async function bindingsOf(cell: KeyedCell, process: StartedProcess | null, cwd: string): Promise<Bindings> {
  const info = process?.read?.exports.layerInfo ?? process?.read?.log.layerInfo ?? null;
  const listed = info === null ? null : listedBindings(info);
  if (listed !== null) return listed;
  const option = '--onnx=';
  const onnx = process?.argv?.find((argument) => argument.startsWith(option));
  const facts =
    onnx === undefined ? null : await readOnnxFacts(resolve(cwd, onnx.slice(option.length))).catch(() => null);
  if (facts !== null) {
    const source = 'as the ONNX model states them now';
    return { source, inputs: facts.inputs.map(ofModel), outputs: facts.outputs.map(ofModel) };
  }
  const inputs = Object.keys(cell.shapes).map((name) => ({ name, type: null, shape: null }));
  return { source: 'not known', inputs, outputs: [] };
}

/** Null when the engine does not list its bindings with their types. */
function listedBindings({ bindings, layers }: LayerInfo): Bindings | null {
  const given = new Map(layers.flatMap(({ inputs }) => inputs.map((one) => [one.name, one])));
  const made = new Map(layers.flatMap(({ outputs }) => outputs.map((one) => [one.name, one])));
  const inputs: EngineBinding[] = [];
  const outputs: EngineBinding[] = [];
  for (const name of bindings) {
    const tensor = made.get(name) ?? given.get(name);
    if (tensor === undefined) return null;
    const binding = { name, type: tensor.type, shape: tensor.dimensions };
    (made.has(name) ? outputs : inputs).push(binding);
  }
  const source = 'as the engine lists them';
  return inputs.length === 0 || outputs.length === 0 ? null : { source, inputs, outputs };
}

function ofModel({ elementType, name, shape }: OnnxTensorInfo): EngineBinding {
  return { name, type: elementType, shape: shape?.map((size) => fixedSize(size) ?? -1) ?? null };
}

/** The shapes of an option of the build, of the inputs that are known by name. */
function shapesIn(process: StartedProcess | null, option: string, names: readonly string[]): Shapes {
  const stated = process?.argv?.find((argument) => argument.startsWith(option)) ?? '';
  return Object.fromEntries(
    stated
      .slice(option.length)
      .split(',')
      .flatMap((part): [string, number[]][] => {
        const name = names.find((input) => part.startsWith(`${input}:`));
        if (name === undefined) return [];
        return [
          [
            name,
            part
              .slice(name.length + 1)
              .split('x')
              .map(Number),
          ],
        ];
      }),
  );
}

/** A dimension that the engine takes in one size only is no dynamic one, whatever the model says. */
function withProfile(input: EngineBinding, least: Shapes, most: Shapes): EngineBinding {
  const [from, to] = [least[input.name], most[input.name]];
  if (input.shape === null || from === undefined || to === undefined) return input;
  return {
    ...input,
    shape: input.shape.map((size, place) => (size === -1 && from[place] === to[place] ? (to[place] ?? -1) : size)),
  };
}

function maxBatchOf(inputs: readonly EngineBinding[], outputs: readonly EngineBinding[], most: Shapes): number | null {
  const isDynamic = [...inputs, ...outputs].every(({ shape }) => shape?.[0] === -1);
  const leading = new Set(inputs.map(({ name }) => most[name]?.[0] ?? null));
  const [batch = null] = leading;
  return isDynamic && leading.size === 1 ? batch : null;
}
