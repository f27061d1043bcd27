import { resolve } from 'node:path';

import { readOnnxFacts } from '../artefacts/onnx-file.ts';
import { UsageError } from '../domain/errors.ts';
import { EXIT_CODES, type ExitCode } from '../domain/exit-codes.ts';
import type { OnnxFacts } from '../domain/onnx-facts.ts';
import { jsonText, printable } from '../domain/printable.ts';
import { inspectJson, inspectText } from '../report/inspect-report.ts';
import { type Io, printLines } from './io.ts';
import { onnxProblem } from './reading-problem.ts';

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
