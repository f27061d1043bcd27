import { createHash } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

import { type Io, printResult } from '../../cli/io.ts';
import { cannotWrite, writeOutput } from '../../cli/output-file.ts';
import { UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { tokenDataset } from '../../harnesses/trtllm-bench/token-dataset.ts';
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
  const written = await write(file, lines, io);
  const made = { schemaVersion: 1, file, ...written, requests, inputTokens, outputTokens, vocabSize, seed } as const;
  return printResult(io, options, made, datasetText);
}

async function write(file: string, lines: Iterable<string>, io: Io) {
  const folder = dirname(resolve(io.cwd, file));
  try {
    // One folder only: more is a slip, and Node hangs when making some in /proc.
    if (!existsSync(folder)) mkdirSync(folder);
  } catch (error) {
    throw cannotWrite(file, error);
  }
  const hash = createHash('sha256');
  function* hashed(): Generator<string> {
    for (const chunk of inChunks(lines)) {
      hash.update(chunk);
      yield chunk;
    }
  }
  const bytes = await writeOutput(file, hashed(), io);
  return { sha256: hash.digest('hex'), bytes };
}

function* inChunks(lines: Iterable<string>): Generator<string> {
  let text = '';
  for (const line of lines) {
    text += line;
    if (text.length > CHUNK_CHARACTERS) {
      yield text;
      text = '';
    }
  }
  if (text !== '') yield text;
}

function datasetText(made: MakeDatasetOutput, { style }: Look): string[] {
  const { bytes, file, inputTokens, outputTokens, requests, seed, sha256, vocabSize } = made;
  return [
    `${printable(file)}: ${count(requests, 'request')}, ${formatBytes(bytes)}`,
    `tokens in ${lengthText(inputTokens)}, out ${lengthText(outputTokens)}; ids below ${vocabSize}; seed ${seed}`,
    `sha256 ${sha256}`,
    '',
    style.dim('In the matrix, of a harness with kind: trtllm-bench, from the folder of the matrix:'),
    `dataset: ${JSON.stringify(printable(file))}`,
  ];
}

function lengthText({ mean, stdev }: { readonly mean: number; readonly stdev: number }): string {
  return stdev === 0 ? String(mean) : `${mean} ± ${stdev}`;
}
