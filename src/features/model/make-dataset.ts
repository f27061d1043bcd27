import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

import { sha256OfFile } from '../../artefacts/files.ts';
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
  try {
    // One folder only: more is a slip, and Node hangs when making some in /proc.
    if (!existsSync(dirname(path))) mkdirSync(dirname(path));
  } catch (error) {
    throw cannotWrite(file, error);
  }
  const bytes = await writeOutput(file, inChunks(lines), io);
  const { sha256 } = await sha256OfFile(path);
  const made = { schemaVersion: 1, file, sha256, bytes, requests, inputTokens, outputTokens, vocabSize, seed } as const;
  return printResult(io, options, made, datasetText);
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
