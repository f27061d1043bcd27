import { resolve } from 'node:path';

import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import type { OnnxFacts } from '../../tools/onnx/facts.ts';
import { jsonText, printable } from '../../text/printable.ts';
import { inspectJson, inspectText } from './text.ts';
import { type Io, printLines } from '../../cli/io.ts';
import { onnxProblem } from '../../selection/reading-problem.ts';

export interface InspectOptions {
  readonly json?: boolean;
}

/** `bench inspect MODEL.onnx`: what the model takes and gives, and what stands in it. */
export async function inspect(file: string, options: InspectOptions, io: Io): Promise<ExitCode> {
  const report = { file, facts: await readModelFile(file, io) };
  if (options.json === true) io.out(`${jsonText(inspectJson(report))}\n`);
  else printLines(io, inspectText(report, io.look));
  return EXIT_CODES.fine;
}

async function readModelFile(file: string, io: Io): Promise<OnnxFacts> {
  try {
    return await readOnnxFacts(resolve(io.cwd, file));
  } catch (error) {
    throw new UsageError(`${printable(file)}: ${onnxProblem(error)}`, { cause: error });
  }
}
