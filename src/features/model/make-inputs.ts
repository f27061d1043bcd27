import { existsSync, mkdirSync } from 'node:fs';
import { basename, dirname, isAbsolute, relative, resolve } from 'node:path';

import { sha256OfFile } from '../../files/files.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { cannotWrite, writeOutput } from '../../cli/output-file.ts';
import { BenchError, UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { seededRandom } from '../../matrix/plan/order.ts';
import type { Shapes } from '../../records/cell.ts';
import { onnxProblem } from '../../selection/find-runs.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { didYouMean } from '../../text/nearest.ts';
import { printable } from '../../text/printable.ts';
import { shellQuote, yamlText } from '../../text/shell-quote.ts';
import { type OnnxTensorInfo, shapeText } from '../../tools/onnx/facts.ts';
import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import {
  ELEMENT_CODINGS,
  type InputRecipe,
  type WantedInput,
  makeInputs as writeInputs,
} from '../../variants/make-inputs.ts';
import type { MakeDatasetOptions, MakeInputsOptions } from './command.ts';
import type { MakeDatasetOutput, MakeInputsOutput } from './output.ts';

export async function makeInputs(model: string, options: MakeInputsOptions, io: Io): Promise<ExitCode> {
  const { dist: distribution, integers = null, seed, shapes = {} } = options;
  const inputs = await inputsOf(model, shapes, io);
  const recipe: InputRecipe = { distribution, seed, integers };
  refuseRange(inputs, recipe);
  const stated = options.output ?? `${basename(model).replace(/\.onnx$/, '')}-inputs`;
  const folder = resolve(io.cwd, stated);
  if (/[,:]/.test(folder)) {
    throw new UsageError(`${printable(folder)}: trtexec does not support a path with , or :: take another --output`);
  }
  const made = await writeInputs(folder, basename(model), inputs, recipe, io.signal).catch((error: unknown) => {
    if (error instanceof BenchError) throw error;
    throw cannotWrite(stated, error);
  });
  const shown = isAbsolute(stated) ? folder : relative(io.cwd, folder) || '.';
  const output: MakeInputsOutput = { schemaVersion: 1, model, folder: shown, ...recipe, inputs: made };
  return printResult(io, options, output, makeInputsText);
}

async function inputsOf(model: string, shapes: Shapes, io: Io): Promise<readonly WantedInput[]> {
  const facts = await readOnnxFacts(resolve(io.cwd, model)).catch((error: unknown) => {
    throw new UsageError(`${printable(model)}: ${onnxProblem(error)}`, { cause: error });
  });
  const wanted = wantedInputs(facts.inputs, shapes, Object.keys(ELEMENT_CODINGS));
  if (typeof wanted === 'string') throw new UsageError(`${printable(model)}: ${wanted}`);
  const named = wanted.find(({ name }) => name.includes(','));
  if (named !== undefined) {
    throw new UsageError(
      `${printable(model)}: trtexec does not support an input with a comma in its name (${printable(named.name)})`,
    );
  }
  return wanted;
}

/** Rejects ranges beyond a type, because such a number would wrap in the file. */
function refuseRange(inputs: readonly WantedInput[], { distribution, integers }: InputRecipe): void {
  if (integers === null) return;
  if (distribution === 'ones' || distribution === 'zeros') {
    throw new UsageError(`--integers does not apply to --dist ${distribution}`);
  }
  for (const { elementType, name } of inputs) {
    const coding = ELEMENT_CODINGS[elementType];
    if (coding?.kind !== 'integer' || elementType === 'bool') continue;
    const least = coding.isSigned ? -(2 ** (coding.bits - 1)) : 0;
    const most = least + 2 ** coding.bits - 1;
    if (integers[0] < least || integers[1] > most) {
      throw new UsageError(
        `--integers ${integers.join('..')}: input ${printable(name)} is ${elementType}, from ${least} to ${most}`,
      );
    }
  }
}

function makeInputsText(made: MakeInputsOutput, look: Look): string[] {
  const { folder, inputs, model } = made;
  const paths = inputs.map(({ file, name }) => ({ name, path: `${folder}/${file}` }));
  const table = renderTable<MakeInputsOutput['inputs'][number]>(
    [
      { header: 'input', text: ({ name }) => printable(name), minWidth: 8 },
      { header: 'type', text: ({ elementType }) => elementType },
      { header: 'shape', text: ({ shape }) => shape.join('x') },
      { header: 'size', text: ({ bytes }) => formatBytes(bytes), align: 'right' },
      { header: 'sha256', text: ({ sha256 }) => sha256.slice(0, 12) },
    ],
    inputs,
    look,
  );
  const matrix = paths.map(({ name, path }) => `${yamlText(name)}: ${yamlText(path)}`);
  const flag = `--loadInputs=${paths.map(({ name, path }) => `${name}:${path}`).join(',')}`;
  return [
    `${count(inputs.length, 'input')} of ${printable(model)} in ${printable(folder)}/: ${recipeText(made)}`,
    '',
    ...table,
    '',
    // Never truncate the line, so that it can be copied.
    look.style.accent(`in a matrix:   inputs: {${matrix.join(', ')}}`),
    look.style.accent(`with trtexec:  ${printable(shellQuote(flag))}`),
  ];
}

function recipeText({ distribution, integers, seed }: MakeInputsOutput): string {
  if (distribution === 'ones' || distribution === 'zeros') return distribution;
  const range = integers === null ? '' : `, whole numbers from ${integers[0]} to ${integers[1]}`;
  return `${distribution}, seed ${seed}${range}`;
}

/** The inputs with complete shapes, with stated sizes for open ones. Returns a text for a problem. */
function wantedInputs(
  inputs: readonly OnnxTensorInfo[],
  stated: Shapes,
  types: readonly string[],
): readonly WantedInput[] | string {
  const names = inputs.map(({ name }) => name);
  const unknown = Object.keys(stated).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const listed = names.map((name) => printable(name)).join(', ');
    return `the model has no input ${printable(unknown)} (it has ${listed || 'none'})${printable(didYouMean(unknown, names))}`;
  }
  const wanted: WantedInput[] = [];
  const open: string[] = [];
  for (const input of inputs) {
    const read = wholeShape(input, stated[input.name]);
    if (typeof read === 'string') return read;
    if (!types.includes(input.elementType)) {
      return `input ${printable(input.name)} is ${input.elementType}, which TensorRT takes at no input (it takes ${types.join(', ')})`;
    }
    if (read === null) open.push(example(input));
    else wanted.push({ name: input.name, elementType: input.elementType, shape: read });
  }
  if (open.length === 0) return wanted;
  const all = [...wanted.flatMap(({ name, shape }) => (name in stated ? [`${name}:${shape.join('x')}`] : [])), ...open];
  return `the model leaves sizes open: add --shapes ${printable(all.join(','))}`;
}

/** Null if a size is open; a text describes a mistake. */
function wholeShape(
  { name, shape }: OnnxTensorInfo,
  stated: readonly number[] | undefined,
): readonly number[] | null | string {
  const shown = printable(name);
  if (stated === undefined) {
    const fixed = (shape ?? []).filter((size) => typeof size === 'number');
    return shape !== null && fixed.length === shape.length ? fixed : null;
  }
  if (stated.some((size) => size < 1)) return `input ${shown}: a size must be at least 1`;
  if (shape === null) return stated;
  if (shape.length !== stated.length) {
    return `input ${shown}: ${stated.join('x')} has ${stated.length} dimensions, the model ${shape.length}: ${printable(shapeText(shape))}`;
  }
  const place = shape.findIndex((size, at) => typeof size === 'number' && size !== stated[at]);
  return place === -1
    ? stated
    : `input ${shown}: ${stated[place]} in dimension ${place}, which the model fixes at ${shape[place]}: ${printable(shapeText(shape))}`;
}

function example({ name, shape }: OnnxTensorInfo): string {
  const sizes = (shape ?? ['?']).map((size) => (typeof size === 'number' ? size : 1));
  return `${name}:${sizes.join('x')}`;
}

const CHUNK_CHARACTERS = 1 << 20;

export async function makeDataset(file: string, options: MakeDatasetOptions, io: Io): Promise<ExitCode> {
  const path = resolve(io.cwd, file);
  if (options.force !== true && existsSync(path)) {
    throw new UsageError(`${printable(file)} exists: --force replaces it`);
  }
  const { requests, seed, vocabSize } = options;
  const inputTokens = { mean: options.inputMean, stdev: options.inputStdev };
  const outputTokens = { mean: options.outputMean, stdev: options.outputStdev };
  const lines = tokenDataset({ requests, input: inputTokens, output: outputTokens, vocabSize, seed });
  try {
    // Makes one folder only: more would be a typing mistake, and Node hangs when it makes some in /proc.
    if (!existsSync(dirname(path))) mkdirSync(dirname(path));
  } catch (error) {
    throw cannotWrite(file, error);
  }
  const bytes = await writeOutput(file, lines, io);
  const { sha256 } = await sha256OfFile(path);
  const made = { schemaVersion: 1, file, sha256, bytes, requests, inputTokens, outputTokens, vocabSize, seed } as const;
  return printResult(io, options, made, datasetText);
}

/** Lengths in tokens, normally distributed. */
interface TokenLengths {
  readonly mean: number;
  readonly stdev: number;
}

interface TokenDataset {
  readonly requests: number;
  readonly input: TokenLengths;
  readonly output: TokenLengths;
  readonly vocabSize: number;
  readonly seed: number;
}

/**
 * Requests for trtllm-bench: one JSON object per line, in pieces of several lines. The format is that of
 * `generate_text_dataset` in tensorrt_llm/bench/dataset/utils.py of NVIDIA/TensorRT-LLM. Tokens are uniform over the
 * vocabulary. Equal options give equal bytes.
 */
export function* tokenDataset({ input, output, requests, seed, vocabSize }: TokenDataset): Generator<string> {
  const random = seededRandom(seed);
  let text = '';
  for (let request = 0; request < requests; request += 1) {
    const inputTokens = lengthOf(input, random);
    const outputTokens = lengthOf(output, random);
    const ids = Array.from({ length: inputTokens }, () => Math.floor(random() * vocabSize));
    text += `{"task_id":${request},"input_ids":[${ids.join(',')}],"output_tokens":${outputTokens}}\n`;
    if (text.length <= CHUNK_CHARACTERS && request < requests - 1) continue;
    yield text;
    text = '';
  }
}

/** Rounded up and at least 1, as in NVIDIA's `get_norm_dist_lengths`. */
function lengthOf({ mean, stdev }: TokenLengths, random: () => number): number {
  return Math.max(1, Math.ceil(mean + stdev * normal(random)));
}

/** Standard normal by the Box-Muller transform (1958). */
function normal(random: () => number): number {
  // 1 - random() is never 0, for which the logarithm is undefined.
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function datasetText(made: MakeDatasetOutput, { style }: Look): string[] {
  const { bytes, file, inputTokens, outputTokens, requests, seed, sha256, vocabSize } = made;
  const lengths = [inputTokens, outputTokens].map(({ mean, stdev }) =>
    stdev === 0 ? `${mean}` : `${mean} ± ${stdev}`,
  );
  return [
    `${printable(file)}: ${count(requests, 'request')}, ${formatBytes(bytes)}`,
    `tokens in ${lengths[0]}, out ${lengths[1]}; ids below ${vocabSize}; seed ${seed}`,
    `sha256 ${sha256}`,
    '',
    style.dim('In the matrix, of a harness with kind: trtllm-bench, from the folder of the matrix:'),
    `dataset: ${JSON.stringify(printable(file))}`,
  ];
}
