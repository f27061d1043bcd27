import type { BuildShape } from '../../records/cell.ts';
import { type Mistake, formatMistake } from '../../errors.ts';
import type { MatrixCell } from '../matrix.ts';
import type { Placed } from '../yaml/yaml-source.ts';
import type { OnnxFacts, OnnxTensorInfo } from '../../tools/onnx/facts.ts';
import {
  elementsBytes,
  fixedSize,
  isDynamic,
  noInput,
  opCountsText,
  shapeFits,
  shapeText,
} from '../../tools/onnx/facts.ts';
import { count } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { onnxOf } from './models.ts';

type FactsByModel = ReadonlyMap<string, OnnxFacts>;

/** Settings that trtexec would refuse or silently change because the inputs of the models differ from the matrix. */
export function modelMistakes(cells: readonly MatrixCell[], models: FactsByModel): Mistake[] {
  const ofAll = (check: (entry: MatrixCell, facts: OnnxFacts) => Mistake[]): Mistake[] =>
    cells.flatMap((entry) => {
      const facts = factsOf(entry, models);
      return facts === null ? [] : check(entry, facts);
    });
  const shapes = ofAll(shapeMistakes);
  const limits = shapes.length === 0 ? ofAll(limitMistakes) : [];
  return [...shapes, ...limits, ...ofAll(fileMistakes)];
}

function factsOf({ build }: MatrixCell, models: FactsByModel): OnnxFacts | null {
  return models.get(onnxOf(build.source)?.value ?? '') ?? null;
}

function shapeMistakes({ cell, shapesAt: at }: MatrixCell, { inputs }: OnnxFacts): Mistake[] {
  const names = Object.keys(cell.shapes);
  const unknown = names.filter((name) => !inputs.some((input) => isMeant(name, input)));
  const problems = [
    ...unknown.map((name) => `model "${cell.model}" ${noInput(name, inputs)}`),
    ...inputs.flatMap((input) => {
      const name = names.find((candidate) => isMeant(candidate, input));
      if (name !== undefined) return misfit(input, cell.shapes[name] ?? [], 'here');
      const example = printable(`${input.name}: ${shapeText(input.shape)}`);
      return isDynamic(input) && unknown.length === 0
        ? [`model "${cell.model}": an input has dynamic dimensions and no shape here: add ${example}`]
        : [];
    }),
  ];
  const isStatic = inputs.every((input) => !isDynamic(input) && !mayBeShapeTensor(input));
  if (problems.length === 0 && names.length > 0 && isStatic) {
    problems.push(
      `model "${cell.model}" has no dynamic dimensions, so trtexec does not accept shapes for it: write shapes: static`,
    );
  }
  return problems.map((problem) => ({ at, problem }));
}

/** Profile limits depend on all cells of a model, so they are checked once all shapes are right. */
function limitMistakes({ build, shapesAt: at }: MatrixCell, { inputs }: OnnxFacts): Mistake[] {
  return build.profiles.flatMap(Object.entries<BuildShape>).flatMap(([name, limits]) => {
    const meant = inputs.filter((input) => isMeant(name, input));
    const problems = meant.flatMap((input) =>
      (['min', 'opt', 'max'] as const).flatMap((limit) => misfit(input, limits[limit], `in build.${limit}`)),
    );
    return problems.map((problem) => ({ at, problem }));
  });
}

function misfit(input: OnnxTensorInfo, sizes: readonly number[], where: string): string[] {
  const { name, shape } = input;
  if (shape === null || mayBeShapeTensor(input) || shapeFits(shape, sizes)) return [];
  const place = shape.findIndex((dimension, at) => fixedSize(dimension) !== null && dimension !== sizes[at]);
  const what =
    shape.length === sizes.length ? `${sizes[place]} in dimension ${place}` : count(sizes.length, 'dimension');
  return [printable(`input "${name}" has ${what} ${where}, and is ${shapeText(shape)} in the model`)];
}

/** Input files need the names of the model and the right number of bytes. */
function fileMistakes({ cell, build, inputFiles }: MatrixCell, { inputs }: OnnxFacts): Mistake[] {
  return Object.entries(inputFiles).flatMap(([name, file]) => {
    const input = inputs.find((candidate) => candidate.name === name);
    if (input === undefined)
      return [{ at: file.at, problem: `inputs: model "${cell.model}" ${noInput(name, inputs)}` }];
    const sizes = cell.shapes[name] ?? (input.shape ?? [null]).map((dimension) => fixedSize(dimension));
    const elements = sizes.reduce<number | null>((all, size) => (all === null || size === null ? null : all * size), 1);
    const bytes = elements === null ? null : elementsBytes(input.elementType, elements);
    // A conversion may change the type of an input.
    const isKnown = build.source.kind === 'onnx' && bytes !== null && !mayBeShapeTensor(input);
    const problem = `inputs.${printable(name)}: the file has ${file.bytes} bytes; ${sizes.join('x')} of ${input.elementType} takes ${bytes}`;
    return isKnown && bytes !== file.bytes ? [{ at: file.at, problem }] : [];
  });
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

/** Operators of each model that the host evaluates, such as `Loop (1)`. */
export function controlFlowIn(cells: readonly MatrixCell[], models: FactsByModel): Record<string, string> {
  const named = cells.map((one) => [one.cell.model, opCountsText(factsOf(one, models)?.controlFlowOps ?? [])] as const);
  return Object.fromEntries(named.filter(([, ops]) => ops !== ''));
}

export function modelNotes(cells: readonly MatrixCell[], models: FactsByModel): string[] {
  const notes = cells.flatMap((entry): Mistake[] => {
    const { at, cell } = entry;
    const { dataDependentOps, controlFlowOps } = factsOf(entry, models) ?? { dataDependentOps: [], controlFlowOps: [] };
    const problems = [
      dataDependentOps.length > 0 && cell.inputs.kind === 'random'
        ? `${opCountsText(dataDependentOps)}: the amount of work depends on the values; random inputs mislead, give real ones (inputs: {INPUT: FILE})`
        : null,
      controlFlowOps.length > 0 && cell.cudaGraph
        ? `${opCountsText(controlFlowOps)}: the host evaluates them, so a CUDA graph is unlikely to be captured or to help; measure with cudaGraph: off too`
        : null,
    ].filter((problem) => problem !== null);
    return problems.map((problem) => ({ at, problem: `model "${cell.model}" has ${problem}` }));
  });
  const constants = cells.flatMap(({ inputFiles }) =>
    Object.entries(inputFiles).flatMap(([name, { at, isConstant }]) => {
      const problem = `inputs.${printable(name)}: one value throughout: a GPU draws less power on it, and clocks higher, than on real values`;
      return isConstant ? [{ at, problem }] : [];
    }),
  );
  return [...new Set([...notes, ...constants].map(formatMistake))];
}

/** The ONNX files of the cells, each once, where it is named first. */
export function onnxFilesOf(cells: readonly MatrixCell[]): Placed<string>[] {
  const files = cells.flatMap(({ build }) => onnxOf(build.source) ?? []).toReversed();
  return [...new Map(files.map((file) => [file.value, file])).values()].toReversed();
}
