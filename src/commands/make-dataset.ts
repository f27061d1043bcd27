import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

import { temporaryPath } from '../artefacts/layout.ts';
import { UsageError } from '../domain/errors.ts';
import { EXIT_CODES, type ExitCode } from '../domain/exit-codes.ts';
import { jsonText, printable } from '../domain/printable.ts';
import { tokenDataset, type TokenDatasetOptions } from '../plan/token-dataset.ts';
import { datasetJson, datasetText } from '../report/dataset-report.ts';
import { type Io, printLines } from './io.ts';

export interface MakeDatasetOptions {
  readonly json?: boolean;
  readonly requests: number;
  readonly inputMean: number;
  readonly inputStdev: number;
  readonly outputMean: number;
  readonly outputStdev: number;
  readonly vocabSize: number;
  readonly seed: number;
  readonly force?: boolean;
}

/** So much text is written at once. */
const CHUNK_CHARACTERS = 1 << 20;

/** `bench make-dataset FILE`: requests of random tokens, for trtllm-bench. */
export function makeDataset(file: string, options: MakeDatasetOptions, io: Io): ExitCode {
  const path = resolve(io.cwd, file);
  if (options.force !== true && existsSync(path)) {
    throw new UsageError(`${printable(file)} is there already: --force replaces it`);
  }
  const { requests, seed, vocabSize } = options;
  const wanted: TokenDatasetOptions = {
    requests,
    input: { mean: options.inputMean, stdev: options.inputStdev },
    output: { mean: options.outputMean, stdev: options.outputStdev },
    vocabSize,
    seed,
  };
  const report = { file, options: wanted, ...write(path, tokenDataset(wanted)) };
  if (options.json === true) io.out(`${jsonText(datasetJson(report))}\n`);
  else printLines(io, datasetText(report, io.look));
  return EXIT_CODES.fine;
}

/** The file is there whole or not at all. */
function write(path: string, lines: Iterable<string>): { sha256: string; bytes: number } {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = temporaryPath(path);
  const hash = createHash('sha256');
  let bytes = 0;
  let text = '';
  const file = openSync(temporary, 'w');
  const flush = (): void => {
    hash.update(text);
    bytes += writeSync(file, text);
    text = '';
  };
  try {
    for (const line of lines) {
      text += line;
      if (text.length > CHUNK_CHARACTERS) flush();
    }
    flush();
    closeSync(file);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  return { sha256: hash.digest('hex'), bytes };
}
