import { resolve } from 'node:path';

import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import type { OnnxFacts } from '../../tools/onnx/facts.ts';
import { printable } from '../../text/printable.ts';
import type { InspectOutput } from './output.ts';
import { suggestedShapes } from './suggested-shapes.ts';
import { inspectText } from './text.ts';
import { inspectWarnings } from './warnings.ts';
import type { Io } from '../../cli/io.ts';
import { printResult } from '../../cli/print-result.ts';
import { onnxProblem } from '../../selection/reading-problem.ts';
import type { InspectOptions } from './command.ts';

/** `bench model inspect MODEL.onnx`: what the model takes and gives, and what stands in it. */
export async function inspect(file: string, options: InspectOptions, io: Io): Promise<ExitCode> {
  const facts = await readModelFile(file, io);
  const [suggested, warnings] = [suggestedShapes(facts), inspectWarnings(facts)];
  printResult<InspectOutput>(io, options, { schemaVersion: 1, file, ...facts, suggested, warnings }, inspectText);
  return EXIT_CODES.fine;
}

async function readModelFile(file: string, io: Io): Promise<OnnxFacts> {
  try {
    return await readOnnxFacts(resolve(io.cwd, file));
  } catch (error) {
    throw new UsageError(`${printable(file)}: ${onnxProblem(error)}`, { cause: error });
  }
}
