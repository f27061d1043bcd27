import type { BuildShape } from '../../records/cell.ts';
import { type Mistake, formatMistake } from '../../errors.ts';
import { type MatrixCell, onnxOf, type PlacedFile, type Placed } from '../matrix.ts';
import {
  elementsBytes,
  fixedSize,
  type OnnxFacts,
  type OnnxTensorInfo,
  shapeText,
  opCountsText,
} from '../../tools/onnx/facts.ts';
import { printable } from '../../text/printable.ts';
import { sortMistakes } from '../yaml/source-node.ts';
import { nearest } from '../../text/nearest.ts';
import { isDynamic } from './models.ts';

type FactsByModel = ReadonlyMap<string, OnnxFacts>;

const LISTED_NAMES = 8;

/** Settings that trtexec would refuse or silently change because the inputs of the models differ from the matrix. */
export function modelMistakes(cells: readonly MatrixCell[], models: FactsByModel): Mistake[] {
  const ofAll = (check: (entry: MatrixCell, facts: OnnxFacts) => Mistake[]): Mistake[] =>
    cells.flatMap((entry) => {
      const facts = factsOf(entry, models);
      return facts === null ? [] : check(entry, facts);
    });
  const shapes = ofAll(shapeMistakes);
  const limits = shapes.length === 0 ? ofAll(limitMistakes) : [];
  return sortMistakes([...shapes, ...limits, ...ofAll(fileMistakes)]);
}

function factsOf({ build }: MatrixCell, models: FactsByModel): OnnxFacts | null {
  return models.get(onnxOf(build.source)?.value ?? '') ?? null;
}

function shapeMistakes(entry: MatrixCell, { inputs }: OnnxFacts): Mistake[] {
  const { cell, shapesAt } = entry;
  const stated = Object.keys(cell.shapes);
  const unknown = stated.filter((name) => !inputs.some((input) => isMeant(name, input)));
  const mistakes = unknown.map((name) => ({
    at: shapesAt.inputs[name]?.name ?? shapesAt.whole,
    problem: unknownInput(cell.model, name, inputs),
  }));
  const guesses = unknown.map((name) => nearest(name, namesOf(inputs)));
  for (const input of inputs) {
    const name = stated.find((candidate) => isMeant(candidate, input));
    if (name !== undefined) mistakes.push(...dimensionMistakes(entry, name, input));
    else if (isDynamic(input) && !guesses.includes(input.name)) {
      mistakes.push({
        at: shapesAt.whole,
        problem: `model "${cell.model}": its input ${quoted(input.name)} has dynamic dimensions and no shape here: add ${printable(input.name)}: ${shortShape(input)}`,
      });
    }
  }
  const isStatic = inputs.every((input) => !isDynamic(input) && !mayBeShapeTensor(input));
  if (mistakes.length === 0 && stated.length > 0 && isStatic) {
    mistakes.push({
      at: shapesAt.whole,
      problem: `model "${cell.model}" has no dynamic dimensions, so trtexec does not accept shapes for it: write shapes: static`,
    });
  }
  return mistakes;
}

function dimensionMistakes({ cell, shapesAt }: MatrixCell, name: string, input: OnnxTensorInfo): Mistake[] {
  const { shape } = input;
  const stated = cell.shapes[name] ?? [];
  const places = shapesAt.inputs[name];
  if (shape === null || mayBeShapeTensor(input)) return [];
  if (shape.length !== stated.length) {
    const problem = `input ${quoted(input.name)} has ${stated.length} dimensions here, and ${shape.length} in the model: ${shortShape(input)}`;
    return [{ at: places?.name ?? shapesAt.whole, problem }];
  }
  return shape.flatMap((dimension, place) => {
    const value = stated[place];
    if (typeof dimension !== 'number' || value === dimension) return [];
    const at = places?.dimensions[place] ?? shapesAt.whole;
    return [{ at, problem: fixedOtherwise(input, place, String(value)) }];
  });
}

/** Profile limits depend on all cells of a model, so they are checked once all shapes are right. */
function limitMistakes({ build, shapesAt }: MatrixCell, { inputs }: OnnxFacts): Mistake[] {
  return build.profiles.flatMap(Object.entries<BuildShape>).flatMap(([name, limits]) => {
    const input = inputs.find((candidate) => isMeant(name, candidate));
    if (input === undefined || mayBeShapeTensor(input)) return [];
    return (input.shape ?? []).flatMap((dimension, place) =>
      (['min', 'opt', 'max'] as const).flatMap((limit) => {
        const value = limits[limit][place];
        if (typeof dimension !== 'number' || value === undefined || value === dimension) return [];
        const problem = fixedOtherwise(input, place, `build.${limit} has ${value}`);
        return [{ at: shapesAt.whole, problem }];
      }),
    );
  });
}

function fixedOtherwise(input: OnnxTensorInfo, place: number, what: string): string {
  return `input ${quoted(input.name)}: ${what} in dimension ${place}, which the model fixes at ${input.shape?.[place]}: ${shortShape(input)}`;
}

/** Input files need the names of the model and the right number of bytes. */
function fileMistakes({ cell, build, inputFiles }: MatrixCell, { inputs }: OnnxFacts): Mistake[] {
  return Object.entries(inputFiles).flatMap(([name, file]) => {
    const input = inputs.find((candidate) => candidate.name === name);
    if (input === undefined) {
      return [{ at: file.at, problem: `inputs: ${unknownInput(cell.model, name, inputs)}` }];
    }
    // A conversion may change the type of an input.
    return build.source.kind === 'onnx' ? sizeMistakes(file, input, cell.shapes[name]) : [];
  });
}

function sizeMistakes(file: PlacedFile, input: OnnxTensorInfo, stated: readonly number[] | undefined): Mistake[] {
  const shape = sizesOf(input, stated);
  const bytes = bytesOf(input, stated);
  if (bytes === null || bytes === file.bytes || mayBeShapeTensor(input)) return [];
  const problem = `inputs.${printable(input.name)}: the file has ${file.bytes} bytes; ${shape.join('x')} of ${input.elementType} takes ${bytes}`;
  return [{ at: file.at, problem }];
}

function sizesOf({ shape }: OnnxTensorInfo, stated: readonly number[] | undefined): readonly (number | null)[] {
  return stated ?? shape?.map((dimension) => fixedSize(dimension)) ?? [null];
}

/** Null while a size is open, and for types without a fixed size. */
function bytesOf(input: OnnxTensorInfo, stated: readonly number[] | undefined): number | null {
  const sizes = sizesOf(input, stated).flatMap((size) => size ?? []);
  if (sizes.length < sizesOf(input, stated).length) return null;
  return elementsBytes(
    input.elementType,
    sizes.reduce((product, size) => product * size, 1),
  );
}

/** Total size of the known inputs of a cell in bytes. */
export function inputBytes(entry: MatrixCell, models: FactsByModel): number {
  const inputs = factsOf(entry, models)?.inputs.filter((input) => !mayBeShapeTensor(input)) ?? [];
  return inputs.reduce((sum, input) => sum + (bytesOf(input, entry.cell.shapes[input.name]) ?? 0), 0);
}

function unknownInput(model: string, name: string, inputs: readonly OnnxTensorInfo[]): string {
  const names = namesOf(inputs);
  const guess = nearest(name, names);
  const listed = names.slice(0, LISTED_NAMES).map(shortName).join(', ');
  const more = names.length > LISTED_NAMES ? `, and ${names.length - LISTED_NAMES} more` : '';
  const meant = guess === null ? '' : `; did you mean ${quoted(guess)}?`;
  return `model "${model}" has no input "${name}" (it has ${listed || 'none'}${more})${meant}`;
}

/** As in trtexec, one star in a name matches any text. */
function isMeant(stated: string, { name }: OnnxTensorInfo): boolean {
  const star = stated.indexOf('*');
  if (star === -1 || stated === name) return stated === name;
  const [head, tail] = [stated.slice(0, star), stated.slice(star + 1)];
  return name.length >= head.length + tail.length && name.startsWith(head) && name.endsWith(tail);
}

/** For a shape tensor, trtexec takes values rather than dimensions. Only a build shows whether an input is one. */
function mayBeShapeTensor({ elementType, shape }: OnnxTensorInfo): boolean {
  return /^int(?:32|64)$/.test(elementType) && shape !== null && shape.length <= 1;
}

function namesOf(inputs: readonly OnnxTensorInfo[]): string[] {
  return inputs.map(({ name }) => name);
}

const LONGEST = 120;

function shortName(name: string): string {
  const safe = printable(name);
  return safe.length > LONGEST ? `${safe.slice(0, LONGEST)}…` : safe;
}

function quoted(name: string): string {
  return `"${shortName(name)}"`;
}

function shortShape({ shape }: OnnxTensorInfo): string {
  return shortName(shapeText(shape));
}

export function modelNotes(cells: readonly MatrixCell[], models: FactsByModel): string[] {
  const notes = cells.flatMap((entry) => {
    const facts = factsOf(entry, models);
    if (facts === null) return [];
    const { cell, at } = entry;
    const { dataDependentOps, controlFlowOps } = facts;
    const problems = [
      dataDependentOps.length > 0 && cell.inputs.kind === 'random'
        ? `${opCountsText(dataDependentOps)}: the amount of work depends on the values; random inputs mislead, give real ones (inputs: {INPUT: FILE})`
        : null,
      controlFlowOps.length > 0 && cell.cudaGraph
        ? `${opCountsText(controlFlowOps)}: the host evaluates them, so a CUDA graph is unlikely to be captured or to help; measure with cudaGraph: off too`
        : null,
    ];
    return problems.flatMap((problem) =>
      problem === null ? [] : [formatMistake({ at, problem: `model "${cell.model}" has ${problem}` })],
    );
  });
  const zeros = cells.flatMap(({ inputFiles }) =>
    Object.entries(inputFiles).flatMap(([name, { at, isZeros }]) => {
      const problem = `inputs.${printable(name)}: nothing but zeros: a GPU draws less power on them, and clocks higher, than on real values`;
      return isZeros ? [formatMistake({ at, problem })] : [];
    }),
  );
  return [...new Set([...notes, ...zeros])];
}

export function onnxFilesOf(cells: readonly MatrixCell[]): Placed<string>[] {
  const files = new Map<string, Placed<string>>();
  for (const { build } of cells) {
    const onnx = onnxOf(build.source);
    if (onnx !== null && !files.has(onnx.value)) files.set(onnx.value, onnx);
  }
  return [...files.values()];
}
