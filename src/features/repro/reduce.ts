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
import { findFlag, flagsOf } from '../../trtexec/flags/flag-table.ts';
import { selectLayers } from '../layers/index.ts';
import type { ReproOptions } from './command.ts';
import type { Reduced, ReproOutput } from './output.ts';

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
  }),
};

type CutInputs = z.infer<typeof REDUCTION.answer>['inputs'];

const TIMEOUT_MS = 600_000;
const LIMITS = ['--minShapes', '--optShapes', '--maxShapes'];

/**
 * Cuts the changed layer out of the model, with its neighbors, and says how to build the cut as either side was built.
 * @param layer a layer, a row of `bench layers --diff`, or a part of an ONNX node's name
 * @throws UsageError when there is no such layer or model, or the model cannot be cut there
 */
export async function reduceModel(
  layer: string,
  cell: KeyedCell,
  diff: LayersDiff,
  { base, head }: Readonly<Record<'base' | 'head', ReproOutput>>,
  { around, model: named, python }: ReproOptions,
  io: Io,
): Promise<{ readonly output: Reduced; readonly model: Buffer }> {
  const found = namedParts(diff, layer);
  const [part] = found;
  const path = modelPath(head, named, io);
  const [ofHead, ofBase] = [limitsOf(head), limitsOf(base)];
  const layers = diff.parts.map(originsOf);
  const shapes = [cell.shapes, ...ofHead, ...ofBase];
  const job = { model: path, layers, wanted: [diff.parts.indexOf(part)], around, shapes };
  const context = { cwd: io.cwd, env: io.env, spawn: io.spawn, signal: io.signal, timeoutMs: TIMEOUT_MS };
  const { answer, model } = await inTemporaryFolder('reduce', async (folder) => {
    const output = join(folder, 'model.onnx');
    const read = await askHelper(REDUCTION, pythonOf(python, io.env), { ...job, output }, folder, context);
    if ('problem' in read) throw new UsageError(`--reduce ${printable(layer)}: ${read.problem}`);
    return { answer: read, model: readFileSync(output) };
  });
  const { inputs, missing, nodesAfter, nodesBefore, nodesOfLayer, outputs } = answer;
  const output: Reduced = {
    layer: changeRows({ ...diff, parts: [part] }).rows[0]?.label ?? layersOf(part)[0]?.name ?? '',
    change: part.change,
    deltaMs: part.deltaMs,
    matching: found.length,
    around,
    nodesBefore,
    nodesAfter,
    nodesOfLayer,
    inputs: inputs.map(({ name, shapes: [run = []], type }) => ({ name, type, shape: run })),
    outputs,
    modelBytes: model.length,
    commands: {
      base: shellLine(trtexecLine(base, inputs, ofBase.length === 0 ? 0 : 1 + ofHead.length)),
      head: shellLine(trtexecLine(head, inputs, ofHead.length === 0 ? 0 : 1)),
    },
    notes: await notesOf(path, head, part, missing),
  };
  return { output, model };
}

/** Of the layers of that name, row or text, the one that changed most comes first. */
function namedParts(diff: LayersDiff, name: string): readonly [ChangedLayers, ...ChangedLayers[]] {
  const withLayer = (isWanted: (layer: ReturnType<typeof layersOf>[number]) => boolean) =>
    diff.parts.filter((part) => layersOf(part).some(isWanted));
  const { rows } = changeRows(diff);
  const selected = new Set(selectLayers(diff.parts.flatMap(layersOf), name, false));
  const [first, ...others] =
    [
      withLayer((layer) => layer.name === name || layer.stableName === name),
      rows.find(({ label }) => label === name)?.parts ?? [],
      withLayer((layer) => selected.has(layer)),
    ]
      .find((parts) => parts.length > 0)
      ?.toSorted((a, b) => Math.abs(b.deltaMs) - Math.abs(a.deltaMs)) ?? [];
  if (first !== undefined) return [first, ...others];
  const hint = rows[0] === undefined ? '' : `; what changed most is ${printable(rows[0].label)}`;
  throw new UsageError(`--reduce ${printable(name)}: neither build has such a layer or ONNX node${hint}`);
}

function layersOf({ base, head }: ChangedLayers) {
  return [...base, ...head];
}

function originsOf(part: ChangedLayers): string[] {
  return [...new Set(layersOf(part).flatMap(({ origins }) => origins))];
}

function modelPath({ build, conversion, model }: ReproOutput, named: string | undefined, io: Io): string {
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
function limitsOf({ build }: ReproOutput): Shapes[] {
  const flags = flagsOf(build?.argv ?? []);
  const known = LIMITS.map((flag) => parseShapes(flags.get(flag) ?? '')).filter((shapes) => shapes !== null);
  return known.length < LIMITS.length ? [] : known;
}

/** Said anew for the cut. */
const REPLACED = new Set(
  '--onnx --saveEngine --loadEngine --timingCacheFile --skipInference --buildOnly --verbose --minShapes --optShapes --maxShapes --shapes --dumpProfile --separateProfileRun --profilingVerbosity --loadInputs'.split(
    ' ',
  ),
);

/**
 * One command that builds and profiles the cut as one side did, without bench.
 * @param limits where min, opt and max of the side begin among the shapes of an input; 0 where they are not known
 */
function trtexecLine({ build, run }: ReproOutput, inputs: CutInputs, limits: number): string[] {
  const flags = [...flagsOf([...(build?.argv ?? []), ...(run?.argv ?? [])])].filter(
    ([flag]) => !REPLACED.has(flag) && !flag.startsWith('--export') && findFlag(flag)?.isPath === false,
  );
  const shapesAt = (option: string, place: number) =>
    `${option}=${inputs.map(({ name, shapes }) => `${name}:${shapes[place]?.join('x')}`).join(',')}`;
  const ranges = limits === 0 ? [] : LIMITS.map((option, place) => shapesAt(option, limits + place));
  const isDynamic = inputs.some((input) => input.isDynamic);
  return [
    'trtexec',
    '--onnx=reduced/model.onnx',
    ...(isDynamic ? [...ranges, shapesAt('--shapes', 0)] : []),
    ...flags.map(([flag, value]) => (value === '' ? flag : `${flag}=${value}`)),
    '--profilingVerbosity=detailed',
    '--dumpProfile',
    '--separateProfileRun',
  ];
}

async function notesOf(path: string, head: ReproOutput, part: ChangedLayers, missing: readonly string[]) {
  const { build, conversion, model } = head;
  const sha256 = conversion === null ? model?.sha256 : conversion.record?.sha256;
  const known = new Set(originsOf(part));
  const gone = missing.filter((name) => known.has(name));
  const notes: readonly (readonly [note: string, isSo: boolean])[] = [
    ['the hash of the model that was built is not known: this one may be another', !sha256],
    ['the model is not the one that was built (other SHA-256)', Boolean(sha256) && (await hashModel(path)) !== sha256],
    ['both builds have the same kernel for this layer', part.change === 'same'],
    [`not in the model, so not in the cut: ${gone.join(', ')}`, gone.length > 0],
    ['how the engine was built is not known: the command has no build flags', build === null],
  ];
  return notes.flatMap(([note, isSo]) => (isSo ? [note] : []));
}
