import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import * as z from 'zod';

import { hashModel } from '../../artefacts/hashes.ts';
import type { Io } from '../../cli/io.ts';
import { UsageError } from '../../errors.ts';
import { changeRows } from '../../layers/change-rows.ts';
import type { ChangedLayers, LayersDiff } from '../../layers/diff-layers.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import { type KeyedCell, parseShapes, type Shapes } from '../../records/cell.ts';
import { count } from '../../records/scalars.ts';
import { printable } from '../../text/printable.ts';
import { shellLine } from '../../text/shell-quote.ts';
import { askHelper, pythonOf } from '../../tools/python/helper.ts';
import { flagsOf } from '../../trtexec/flags/flag-table.ts';
import { selectLayers } from '../layers/index.ts';
import type { Reduced } from './output.ts';
import { type Cut, type CutInput, reducedMatrix, trtexecLine } from './reduced-matrix.ts';
import type { Reproduction } from './reproduction.ts';

export interface ReduceOptions {
  readonly layer: string;
  readonly around: number;
  /** The ONNX file; else the one that was built. */
  readonly model: string | undefined;
  readonly python: string | undefined;
}

export interface ReducedModel {
  readonly output: Reduced;
  readonly model: Buffer;
  readonly matrices: Readonly<Record<'base' | 'head', string>>;
}

const REDUCTION = {
  script: 'reduce_model.py',
  needs: 'onnx',
  answer: z.object({
    nodesBefore: count,
    nodesAfter: count,
    nodesOfLayer: count,
    inputs: z.array(
      z.object({ name: z.string(), type: z.string(), isDynamic: z.boolean(), shapes: z.array(z.array(count)) }),
    ),
    outputs: z.array(z.string()),
    missing: z.array(z.string()),
    version: z.string(),
  }),
};

const TIMEOUT_MS = 600_000;

/**
 * Cuts the changed layer out of the model, with its neighbors, and says how to build the cut as either side was built.
 * @throws UsageError when there is no such layer or model, or the model cannot be cut there
 */
export async function reduceModel(
  cell: KeyedCell,
  diff: LayersDiff,
  sides: Readonly<Record<'base' | 'head', Reproduction>>,
  options: ReduceOptions,
  io: Io,
): Promise<ReducedModel> {
  const { head } = sides;
  const found = namedParts(diff, options.layer);
  const [part] = found;
  const path = modelPath(head, options.model, io);
  const layers = diff.parts.map(originsOf);
  const [ofHead, ofBase] = [limitsOf(head), limitsOf(sides.base)];
  const shapes = [cell.shapes, ...ofHead, ...ofBase];
  const job = { model: path, layers, wanted: [diff.parts.indexOf(part)], around: options.around, shapes };
  const context = { cwd: io.cwd, env: io.env, spawn: io.spawn, signal: io.signal, timeoutMs: TIMEOUT_MS };
  const { answer, model } = await inTemporaryFolder('reduce', async (folder) => {
    const output = join(folder, 'model.onnx');
    const read = await askHelper(REDUCTION, pythonOf(options.python, io.env), { ...job, output }, folder, context);
    if ('problem' in read) throw new UsageError(`--reduce ${printable(options.layer)}: ${read.problem}`);
    return { answer: read, model: readFileSync(output) };
  });
  const inputs: readonly CutInput[] = answer.inputs;
  const title = `${cell.model} reduced: ${labelOf(diff, part)}`;
  const cutOf = (from: number, { length }: readonly Shapes[]): Cut => {
    const own = inputs.map((input) => ({
      ...input,
      shapes: [...input.shapes.slice(0, 1), ...input.shapes.slice(from, from + length)],
    }));
    return { cell, title, inputs: own };
  };
  const cuts = { head: cutOf(1, ofHead), base: cutOf(1 + ofHead.length, ofBase) };
  return {
    output: {
      layer: labelOf(diff, part),
      change: part.change,
      deltaMs: part.deltaMs,
      matching: found.length,
      around: options.around,
      nodesBefore: answer.nodesBefore,
      nodesAfter: answer.nodesAfter,
      nodesOfLayer: answer.nodesOfLayer,
      inputs: inputs.map(({ name, shapes: [run = []], type }) => ({ name, type, shape: run })),
      outputs: answer.outputs,
      modelBytes: model.length,
      commands: { base: shellLine(trtexecLine(sides.base, cuts.base)), head: shellLine(trtexecLine(head, cuts.head)) },
      notes: await notesOf(path, head, part, answer.missing),
    },
    model,
    matrices: { base: reducedMatrix(sides.base, cuts.base), head: reducedMatrix(head, cuts.head) },
  };
}

/** Of the layers of that name, row or text, the one that changed most comes first. */
function namedParts(diff: LayersDiff, name: string): readonly [ChangedLayers, ...ChangedLayers[]] {
  const isNamed = (part: ChangedLayers): boolean =>
    layersOf(part).some((layer) => layer.name === name || layer.stableName === name);
  const row = changeRows(diff).rows.find(({ label }) => label === name);
  const selected = new Set(selectLayers(diff.parts.flatMap(layersOf), name, false));
  const found = [
    diff.parts.filter(isNamed),
    row?.parts ?? [],
    diff.parts.filter((part) => layersOf(part).some((layer) => selected.has(layer))),
  ]
    .find((parts) => parts.length > 0)
    ?.toSorted((a, b) => Math.abs(b.deltaMs) - Math.abs(a.deltaMs));
  const [first, ...others] = found ?? [];
  if (first === undefined) {
    const [changed] = changeRows(diff).rows;
    const hint = changed === undefined ? '' : `; what changed most is ${printable(changed.label)}`;
    throw new UsageError(`--reduce ${printable(name)}: neither build has such a layer or ONNX node${hint}`);
  }
  return [first, ...others];
}

function layersOf({ base, head }: ChangedLayers) {
  return [...base, ...head];
}

function originsOf(part: ChangedLayers): string[] {
  return [...new Set(layersOf(part).flatMap(({ origins }) => origins))];
}

function labelOf(diff: LayersDiff, part: ChangedLayers): string {
  return changeRows({ ...diff, parts: [part] }).rows[0]?.label ?? layersOf(part)[0]?.name ?? '';
}

function modelPath({ build, conversion, model }: Reproduction, named: string | undefined, io: Io): string {
  const built = flagsOf(build?.argv ?? []).get('--onnx') ?? (conversion === null ? model?.path : undefined);
  const path = named ?? built;
  if (path === undefined) {
    throw new UsageError('--reduce: the model that was built is not known: name its ONNX file, --model FILE');
  }
  const place = resolve(io.cwd, path);
  if (existsSync(place)) return place;
  const advice = named === undefined ? ': name the file that was built, --model FILE' : '';
  throw new UsageError(`${printable(path)}: no such model${advice}`);
}

/** Min, opt and max that the engine was built for; none where they are not known. */
function limitsOf({ build }: Reproduction): Shapes[] {
  const flags = flagsOf(build?.argv ?? []);
  const limits = ['--minShapes', '--optShapes', '--maxShapes'].map((flag) => parseShapes(flags.get(flag) ?? ''));
  const known = limits.filter((limit) => limit !== null);
  return known.length < limits.length ? [] : known;
}

async function notesOf(path: string, head: Reproduction, part: ChangedLayers, missing: readonly string[]) {
  const { build, conversion, model } = head;
  const sha256 = conversion === null ? (model?.sha256 ?? null) : (conversion.record?.sha256 ?? null);
  const known = new Set(originsOf(part));
  const gone = missing.filter((name) => known.has(name));
  return [
    ...(sha256 === null ? ['the hash of the model that was built is not known: this one may be another'] : []),
    ...(sha256 !== null && (await hashModel(path)) !== sha256
      ? ['the model is not the one that was built (other SHA-256)']
      : []),
    ...(part.change === 'same' ? ['both builds have the same kernel for this layer'] : []),
    ...(gone.length === 0 ? [] : [`not in the model, so not in the cut: ${gone.join(', ')}`]),
    ...(build === null ? ['how the engine was built is not known: the matrix has no build flags'] : []),
  ];
}
