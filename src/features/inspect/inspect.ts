import { resolve } from 'node:path';

import type { Io } from '../../cli/io.ts';
import { printResult } from '../../cli/print-result.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { onnxProblem } from '../../selection/reading-problem.ts';
import { printable } from '../../text/printable.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import { type OnnxDimension, type OnnxFacts, opCountsText } from '../../tools/onnx/facts.ts';
import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import type { InspectOptions } from './command.ts';
import type { InspectOutput } from './output.ts';
import { inspectText } from './text.ts';

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

/** The serialized size that protobuf cannot go beyond. */
const PROTOBUF_LIMIT_BYTES = 2 ** 31;

/** What of a model makes a benchmark fail or mislead. */
function inspectWarnings(facts: OnnxFacts): string[] {
  const { dataDependentOps, controlFlowOps, customOps, externalFiles, fileBytes } = facts;
  return [
    ...(dataDependentOps.length > 0
      ? [
          `${opCountsText(dataDependentOps)}: how much work it is hangs on the values; random inputs mislead, give real ones (inputs: {INPUT: FILE} in a matrix)`,
        ]
      : []),
    ...(controlFlowOps.length > 0
      ? [
          `${opCountsText(controlFlowOps)}: the host decides in between; a CUDA graph is not likely to be captured or to help`,
        ]
      : []),
    ...(customOps.length > 0 ? [`${opCountsText(customOps)}: not of ONNX; TensorRT needs plugins for that`] : []),
    ...externalFiles.flatMap(({ location, problem }) =>
      problem === null ? [] : [`weights in ${location}: ${problem}`],
    ),
    ...(fileBytes >= PROTOBUF_LIMIT_BYTES
      ? ['2 GiB or more: protobuf reads no such file; keep the weights in a file of their own']
      : []),
  ];
}

interface SuggestedShapes {
  /** What may stand after `shapes:` of a model in a matrix. */
  readonly shapes: string;
  /** `--shapes=…` with 1 for each dynamic dimension, as a shell reads it; null when trtexec takes none. */
  readonly trtexecFlag: string | null;
}

/** Shapes for the inputs with dynamic dimensions; only they need any. */
function suggestedShapes({ inputs }: OnnxFacts): SuggestedShapes {
  const dynamic = inputs.flatMap(({ name, shape }) =>
    shape === null || shape.every((dimension) => typeof dimension === 'number') ? [] : [{ name, shape }],
  );
  if (dynamic.length === 0) return { shapes: 'static', trtexecFlag: null };
  const templates = dynamic.map(({ name, shape }) => `${yamlKey(name)}: [${shape.map(matrixDimension).join(', ')}]`);
  const filled = dynamic.map(
    ({ name, shape }) => `${name}:${shape.map((size) => (typeof size === 'number' ? size : 1)).join('x')}`,
  );
  return { shapes: `{${templates.join(', ')}}`, trtexecFlag: shellQuote(`--shapes=${filled.join(',')}`) };
}

/** A word that a matrix takes as an axis; an unnamed leading dimension is most likely the batch. */
function matrixDimension(dimension: OnnxDimension, place: number): string {
  if (typeof dimension === 'number') return String(dimension);
  if (dimension === null) return place === 0 ? 'batch' : `dim${place}`;
  const word = dimension.replaceAll(/\W+/g, '_').replace(/^(?=\d)/, '_');
  return /[A-Za-z]/.test(word) ? word : `dim${place}`;
}

function yamlKey(name: string): string {
  return /^[A-Za-z_][\w./-]*$/.test(name) ? name : JSON.stringify(name);
}
