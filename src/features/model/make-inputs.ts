import { existsSync, mkdirSync } from 'node:fs';
import { basename, dirname, isAbsolute, relative, resolve } from 'node:path';

import { sha256OfFile } from '../../files/files.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { cannotWrite, writeOutput } from '../../cli/output-file.ts';
import { ensure, BenchError, UsageError, type ExitCode } from '../../errors.ts';
import { seededRandom } from '../../matrix/plan/order.ts';
import type { Shapes } from '../../records/cell.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { printable } from '../../text/printable.ts';
import { shellQuote, yamlText } from '../../text/shell-quote.ts';
import { noInput, openShapes, type OnnxTensorInfo, sizedInput, type SizedInput } from '../../tools/onnx/facts.ts';
import { ELEMENT_CODINGS, type InputRecipe, makeInputs as writeInputs } from '../../variants/make-inputs.ts';
import type { MakeDatasetOptions, MakeInputsOptions } from './command.ts';
import { readModelFile } from './inspect.ts';
import type { MakeDatasetOutput, MakeInputsOutput } from './output.ts';

export async function makeInputs(model: string, options: MakeInputsOptions, io: Io): Promise<ExitCode> {
  const { dist: distribution, integers = null, seed, shapes = {} } = options;
  const { inputs: known } = await readModelFile(model, io);
  const inputs = wantedInputs(model, known, shapes);
  const recipe: InputRecipe = { distribution, seed, integers };
  for (const { elementType, name } of integers === null ? [] : inputs) {
    const range = elementType === 'bool' ? null : (ELEMENT_CODINGS[elementType]?.range ?? null);
    if (range === null || integers === null || (integers[0] >= range[0] && integers[1] <= range[1])) continue;
    const limits = `input ${printable(name)} is ${elementType}, from ${range[0]} to ${range[1]}`;
    throw new UsageError(`--integers ${integers.join('..')}: ${limits}`);
  }
  const stated = options.output ?? `${basename(model).replace(/\.onnx$/, '')}-inputs`;
  const folder = resolve(io.cwd, stated);
  const comma = [folder, ...inputs.map(({ name }) => name.replaceAll(':', ''))].find((text) => /[,:]/.test(text));
  if (comma !== undefined) throw new UsageError(`${printable(comma)}: trtexec does not support such a name`);
  const made = await writeInputs(folder, basename(model), inputs, recipe, io.signal).catch((error: unknown) => {
    if (error instanceof BenchError) throw error;
    throw cannotWrite(stated, error);
  });
  const shown = isAbsolute(stated) ? folder : relative(io.cwd, folder) || '.';
  const output: MakeInputsOutput = { schemaVersion: 1, model, folder: shown, ...recipe, inputs: made };
  return printResult(io, options, output, makeInputsText);
}

/** The inputs with complete shapes, with stated sizes for open ones. */
function wantedInputs(model: string, inputs: readonly OnnxTensorInfo[], stated: Shapes): SizedInput[] {
  const refuse = (problem: string) => new UsageError(printable(`${model}: ${problem}`));
  const unknown = Object.keys(stated).find((name) => inputs.every((input) => input.name !== name));
  if (unknown !== undefined) throw refuse(`the model ${noInput(unknown, inputs)}`);
  return inputs.map((input) => {
    const { elementType, name } = input;
    if (ELEMENT_CODINGS[elementType] === undefined)
      throw refuse(`input ${name} is ${elementType}, which bench cannot write`);
    const sized = sizedInput(input, stated[name]);
    if (sized === null) throw refuse(`the model leaves sizes open: add --shapes ${openShapes(inputs, stated)}`);
    if (typeof sized === 'string') throw refuse(`input ${name} is ${sized}`);
    return sized;
  });
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

export async function makeDataset(file: string, options: MakeDatasetOptions, io: Io): Promise<ExitCode> {
  const path = resolve(io.cwd, file);
  ensure(options.force === true || !existsSync(path), `${printable(file)} exists: --force replaces it`);
  const { requests, seed, vocabSize } = options;
  const inputTokens = { mean: options.inputMean, stdev: options.inputStdev };
  const outputTokens = { mean: options.outputMean, stdev: options.outputStdev };
  const wanted = { requests, inputTokens, outputTokens, vocabSize, seed };
  try {
    // Makes one folder only: more would be a typing mistake, and Node hangs when it makes some in /proc.
    if (!existsSync(dirname(path))) mkdirSync(dirname(path));
  } catch (error) {
    throw cannotWrite(file, error);
  }
  const bytes = await writeOutput(file, tokenDataset(wanted), io);
  const { sha256 } = await sha256OfFile(path);
  return printResult(io, options, { schemaVersion: 1, file, sha256, bytes, ...wanted }, datasetText);
}

type TokenDataset = Pick<MakeDatasetOutput, 'inputTokens' | 'outputTokens' | 'requests' | 'seed' | 'vocabSize'>;

/**
 * Requests for trtllm-bench: one JSON object per line. The format is that of
 * `generate_text_dataset` in tensorrt_llm/bench/dataset/utils.py of NVIDIA/TensorRT-LLM. Tokens are uniform over the
 * vocabulary. Equal options give equal bytes.
 */
export function* tokenDataset(wanted: TokenDataset): Generator<string> {
  const random = seededRandom(wanted.seed);
  for (let request = 0; request < wanted.requests; request += 1) {
    const length = lengthOf(wanted.inputTokens, random);
    const outputTokens = lengthOf(wanted.outputTokens, random);
    const ids = Array.from({ length }, () => Math.floor(random() * wanted.vocabSize));
    yield `{"task_id":${request},"input_ids":[${ids.join(',')}],"output_tokens":${outputTokens}}\n`;
  }
}

/** Rounded up and at least 1, as in NVIDIA's `get_norm_dist_lengths`. */
function lengthOf({ mean, stdev }: TokenDataset['inputTokens'], random: () => number): number {
  return Math.max(1, Math.ceil(mean + stdev * normal(random)));
}

/** Standard normal by the Box-Muller transform (1958). */
function normal(random: () => number): number {
  // 1 - random() is never 0, for which the logarithm is undefined.
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function datasetText({ bytes, file, requests, sha256 }: MakeDatasetOutput, { style }: Look): string[] {
  return [
    `${printable(file)}: ${count(requests, 'request')}, ${formatBytes(bytes)}, sha256 ${sha256}`,
    '',
    style.dim('In the matrix, of a harness with kind: trtllm-bench, from the folder of the matrix:'),
    `dataset: ${JSON.stringify(printable(file))}`,
  ];
}
