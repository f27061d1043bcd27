import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

import { sha256OfFile } from '../../artefacts/files.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { cannotWrite, writeOutput } from '../../cli/output-file.ts';
import { UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { seededRandom } from '../../matrix/plan/order.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import type { MakeDatasetOptions } from './command.ts';
import type { MakeDatasetOutput } from './output.ts';

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
