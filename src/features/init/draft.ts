import { posix } from 'node:path';

import { CELL_FIELDS } from '../../matrix/matrix.ts';
import { AXIS_NAMES } from '../../matrix/schema/schema.ts';
import { type Precision, PRECISIONS } from '../../records/cell.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import { isAtLeast, type TensorrtVersion } from '../../text/version.ts';
import { opCountsText, type OnnxDimension, type OnnxFacts, type OnnxTensorInfo } from '../../tools/onnx/facts.ts';
import { isFlagIn } from '../../trtexec/flags/flag-table.ts';
import type { InitOutput } from './output.ts';

type Model = InitOutput['models'][number];
type Dimension = Model['dimensions'][number];
type DraftPrecision = Model['precisions'][number];
export type SkippedFile = InitOutput['skipped'][number];

export interface FoundModel {
  /** Relative to the folder of the matrix, with slashes. */
  readonly path: string;
  readonly facts: OnnxFacts;
}

export interface DraftModel extends Model {
  /** Run shapes by input; null for a model without open dimensions. */
  readonly shapes: Readonly<Record<string, readonly (number | string)[]>> | null;
  /** What would work here too. */
  readonly others: readonly DraftPrecision[];
  readonly remarks: readonly string[];
  /** False where graph capture would fail. */
  readonly cudaGraph: boolean;
}

export interface Possibilities {
  /** Null when unknown: then only what every version supports is proposed. */
  readonly version: TensorrtVersion | null;
  readonly hasModelopt: boolean;
}

/** `vit.onnx`, `vit_fp16.onnx` and `vit-fp8.onnx` of one folder, with equal inputs, are one model. */
export function draftModels(found: readonly FoundModel[], possibilities: Possibilities) {
  const named = found.map((model) => {
    const whole = posix.basename(model.path).replace(/\.onnx$/i, '');
    const [, stem = '', word = ''] = /^(.+)[_.-]([a-z]+\d+)$/i.exec(whole) ?? [];
    const precision = isOneOf(PRECISIONS, word.toLowerCase()) ? word.toLowerCase() : null;
    return { model, folder: posix.dirname(model.path), whole, stem: precision === null ? whole : stem, precision };
  });
  const groups = Map.groupBy(named, ({ folder, model, stem }) => {
    // Without types, as conversions change them.
    return JSON.stringify([folder, stem, model.facts.inputs.map(({ name, shape }) => [name, shape])]);
  });
  const models: DraftModel[] = [];
  const skipped: SkippedFile[] = [];
  for (const files of groups.values()) {
    const base = files.find(({ precision }) => precision === null) ?? (files.length === 1 ? files[0] : undefined);
    const first = base ?? files[0];
    if (first === undefined) continue;
    const variants = new Map<Precision, string>();
    for (const { model, precision } of files.filter((file) => file !== base)) {
      if (isOneOf(PRECISIONS, precision) && !variants.has(precision)) variants.set(precision, model.path);
      else skipped.push({ path: model.path, problem: 'another file has the same precision' });
    }
    const drafted = draftModel(base?.model ?? null, first.model, [...variants], possibilities);
    const wanted = (base === undefined ? first.stem : base.whole).trim() || 'model';
    if (typeof drafted === 'string') skipped.push({ path: first.model.path, problem: drafted });
    else {
      const inFolder = /\w/.test(first.folder) ? [`${posix.basename(first.folder).trim()}_${wanted}`] : [];
      models.push({
        ...drafted,
        name: firstFree(
          [wanted, ...inFolder],
          models.map(({ name }) => name),
        ),
      });
    }
  }
  return { models, skipped };
}

/** The first name that is not taken, else the first with a number. */
function firstFree([first, ...others]: readonly [string, ...string[]], taken: readonly string[]): string {
  let name = [first, ...others].find((each) => !taken.includes(each)) ?? first;
  for (let number = 2; taken.includes(name); number += 1) name = `${first}_${number}`;
  return name;
}

/** @param variants files by precision. @returns why no matrix can use the model */
function draftModel(
  base: FoundModel | null,
  { facts }: FoundModel,
  variants: readonly (readonly [Precision, string])[],
  possibilities: Possibilities,
): Omit<DraftModel, 'name'> | string {
  const shapes = draftShapes(facts.inputs);
  if (typeof shapes === 'string') return shapes;
  const { version } = possibilities;
  const files = variants
    .filter(([precision]) => canRun(precision, version))
    .map(([precision, source]): DraftPrecision => ({ precision, source, why: 'by its name' }));
  const own = base === null ? null : ownPrecision(base.facts);
  if (base !== null && own === null && files.length === 0) {
    return 'it is quantized to a type that no precision of a matrix represents';
  }
  const proposed = own === null || !canRun(own, version) ? [] : proposals(own, possibilities);
  const made = proposed.filter(({ precision }) => !files.some((file) => file.precision === precision));
  const [chosen, others] = [true, false].map((wanted) =>
    made.filter(({ precision }) => (precision === own || precision === 'fp16') === wanted),
  );
  const precisions = [...(chosen ?? []), ...files];
  if (precisions.length === 0) {
    const needed = [...(own === null ? [] : [own]), ...variants.map(([precision]) => precision)];
    return `this version of TensorRT cannot run ${needed.join(', ')}`;
  }
  const cudaGraph = facts.controlFlowOps.length === 0;
  return {
    onnx: base?.path ?? null,
    ...shapes,
    precisions,
    others: others ?? [],
    remarks: remarksOn(facts),
    cudaGraph,
  };
}

/** A model's own precision; null where trtexec supports none such. */
function ownPrecision(facts: OnnxFacts): Precision | null {
  const [quantized] = facts.quantizedTypes;
  if (facts.quantizeNodes + facts.dequantizeNodes > 0 && quantized !== undefined) {
    const [, bits] = /^(?:u?int|float)(8|4)/.exec(quantized.elementType) ?? [];
    const isFloat = quantized.elementType.startsWith('float');
    return bits === undefined || (isFloat && bits === '4') ? null : isFloat ? 'fp8' : bits === '8' ? 'int8' : 'int4';
  }
  // A model without weights computes in the type of its inputs.
  const most = [...facts.weights.toSorted((a, b) => b.bytes - a.bytes), ...facts.inputs].find(({ elementType }) =>
    /^b?float(?:16|32)$/.test(elementType),
  );
  return most?.elementType === 'float16' ? 'fp16' : most?.elementType === 'bfloat16' ? 'bf16' : 'fp32';
}

function canRun(precision: Precision, version: TensorrtVersion | null): boolean {
  if (version === null || precision === 'fp32' || precision === 'tf32') return true;
  // From 11 on there are no precision flags: the model decides.
  return version.major >= 11 || isFlagIn(`--${precision}`, version);
}

/** Of a base model, the model itself first. */
function proposals(own: Precision, { version, hasModelopt }: Possibilities): DraftPrecision[] {
  const self: DraftPrecision = { precision: own, source: 'onnx', why: 'the model as it is' };
  if (own !== 'fp32') return [self];
  const hasFlags = version !== null && !isAtLeast(version, '11.0');
  const byFlag = { source: 'flag', why: (name: string) => `by trtexec's --${name}, which TensorRT 11 no longer has` };
  const cast = { source: 'autocast', why: () => "made by ModelOpt's AutoCast" };
  const quantized = { source: 'modelopt', why: () => "made by ModelOpt's quantization, on random data: speed only" };
  const made = (['fp16', 'bf16', 'int8', 'fp8', 'int4'] as const).flatMap((precision): DraftPrecision[] => {
    const isFloat = precision === 'fp16' || precision === 'bf16';
    const by = !isFloat ? quantized : hasFlags ? byFlag : cast;
    if (!canRun(precision, version) || (by !== byFlag && !hasModelopt)) return [];
    return [{ precision, source: by.source, why: by.why(precision) }];
  });
  return [self, ...made];
}

function remarksOn({ controlFlowOps, customOps, dataDependentOps, externalFiles, inputs }: OnnxFacts): string[] {
  const integers = inputs.filter(({ elementType }) => /^int(?:32|64)$/.test(elementType));
  const namesOf = (isWanted: (rank: number) => boolean, unknown: number) =>
    integers.flatMap(({ name, shape }) => (isWanted(shape?.length ?? unknown) ? [name] : [])).join(', ');
  const [lists, indices] = [namesOf((rank) => rank <= 1, 2), namesOf((rank) => rank > 1, 0)];
  const lost = externalFiles.filter(({ problem }) => problem !== null);
  return [
    controlFlowOps.length > 0 && `${opCountsText(controlFlowOps)}: the host evaluates them, so no CUDA graph`,
    dataDependentOps.length > 0 &&
      `${opCountsText(dataDependentOps)}: the amount of work depends on the values; give real inputs: {INPUT: FILE}`,
    customOps.length > 0 && `${opCountsText(customOps)}: needs a plugin, build: {flags: {--dynamicPlugins: [FILE]}}`,
    lists !== '' && `${lists}: if its values are a shape, write the values here, not its dimensions`,
    indices !== '' &&
      `${indices}: random integers are from -128 to 127; if these are indices, give real ones, inputs: {INPUT: FILE}`,
    ...lost.map(({ location, problem }) => `data file ${location}: ${problem}`),
  ].filter((remark) => remark !== false);
}

type SizeGuess = Omit<Dimension, 'name'>;

function around(opt: number, min: number, max: number, why: string): SizeGuess {
  return { values: [opt], min, opt, max, why };
}

const BATCH: SizeGuess = { ...around(8, 1, 32, 'a batch: three sizes, tuned for the middle one'), values: [1, 8, 32] };
const UNKNOWN = around(16, 1, 64, 'the model does not describe this dimension');

/** Tried in order on the lower-case name of a dimension. */
const SIZES: readonly (readonly [name: RegExp, guess: SizeGuess])[] = [
  [/^(?:n|b|bs|num_samples)$|batch/, BATCH],
  [/chan/, around(3, 3, 3, 'channels of a color image')],
  [/past|cache|kv/, around(128, 1, 512, 'earlier tokens')],
  [/seq|len|token|context|^[lst]$/, around(128, 1, 512, 'the length of a sequence')],
  [/height|width|image|pixel|^[hw]$/, around(256, 128, 512, 'the side of an image: multiples of 64')],
  [/frame|time|audio|sample/, around(128, 1, 512, 'a number of time steps')],
];

/**
 * A size for an open dimension.
 * @param name such as `batch`, `seq_len` or `past + seq_len`; null when unnamed
 * @param place 0-based; an unclear first dimension is taken for the batch
 */
export function guessSize(name: string | null, place: number): SizeGuess {
  const guesses = (name ?? '').split('+').map((text) => {
    const part = text.trim().toLowerCase();
    if (/^\d+$/.test(part)) return around(Number(part), Number(part), Number(part), 'a number');
    return SIZES.find(([pattern]) => pattern.test(part))?.[1] ?? UNKNOWN;
  });
  const [only = UNKNOWN] = guesses;
  if (guesses.length === 1) return only === UNKNOWN && place === 0 ? BATCH : only;
  const sum = (limit: 'opt' | 'min' | 'max') => guesses.reduce((total, guess) => total + guess[limit], 0);
  return around(sum('opt'), sum('min'), sum('max'), 'the sum of the dimensions in its name');
}

/** Names that mean something else where an axis or a filter is; a dimension `batch` is the field of that name. */
const TAKEN = new Set<string>([...AXIS_NAMES, ...CELL_FIELDS, 'model'].filter((name) => name !== 'batch'));

/** Shapes for inputs with open dimensions, with sizes: one axis per name, and per dimension without one; or why there are none. */
export function draftShapes(inputs: readonly OnnxTensorInfo[]): Pick<DraftModel, 'shapes' | 'dimensions'> | string {
  const open: { readonly input: string; readonly shape: readonly OnnxDimension[] }[] = [];
  for (const { elementType, name, shape } of inputs) {
    if (['sequence', 'map', 'optional', 'opaque'].includes(elementType)) {
      return `input ${name} is not a tensor: its type is ${elementType}`;
    }
    if (elementType === 'string') return `input ${name} holds strings, which TensorRT does not support`;
    if (shape === null) return `it does not say how many dimensions input ${name} has`;
    if (shape.every((dimension) => typeof dimension === 'number')) continue;
    if (/[,'\s]/.test(name)) {
      return `trtexec does not support input ${name}: it has a comma, a quote or a space in its name`;
    }
    open.push({ input: name, shape });
  }
  if (open.length === 0) return { shapes: null, dimensions: [] };
  const first = new Set(open.flatMap(({ shape: [size] }) => (typeof size === 'string' ? [size] : [])));
  // An unnamed first dimension is the one that other inputs name, if they agree.
  const [leading = null] = first.size === 1 ? first : [];
  const axes = new Map<string, Dimension>();
  const axisOf = (input: string, dimension: string | null, place: number): string => {
    const stated = dimension ?? (place === 0 ? leading : null);
    const origin = stated ?? (place === 0 ? '' : `${input}\0${place}`);
    const known = axes.get(origin);
    if (known !== undefined) return known.name;
    const word = (stated ?? (place === 0 ? 'batch' : `${input}_dim${place}`)).replaceAll(/\W+/g, '_');
    const plain = /[A-Za-z]/.test(word) ? word.replace(/^(?=\d)/, '_') : `dim${axes.size}`;
    const base = TAKEN.has(plain) ? `${plain}_dim` : plain;
    const name = firstFree(
      [base],
      [...axes.values()].map((axis) => axis.name),
    );
    axes.set(origin, { name, ...guessSize(stated, place) });
    return name;
  };
  const shapes = open.map(({ input, shape }) => [
    input,
    shape.map((size, place) => (typeof size === 'number' ? size : axisOf(input, size, place))),
  ]);
  return { shapes: Object.fromEntries(shapes), dimensions: [...axes.values()] };
}
