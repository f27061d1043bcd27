import { resolve } from 'node:path';

import { type Io, printResult } from '../../cli/io.ts';
import { UsageError, type ExitCode } from '../../errors.ts';
import { UNREADABLE_NAME } from '../../records/cell.ts';
import { onnxProblem } from '../../selection/find-runs.ts';
import { printable, shortList } from '../../text/printable.ts';
import { shellQuote, yamlText } from '../../text/shell-quote.ts';
import type { OnnxDimension, OnnxFacts } from '../../tools/onnx/facts.ts';
import { isDynamic, openShapes, opCountsText, opName, shapeText } from '../../tools/onnx/facts.ts';
import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import type { InspectOptions } from './command.ts';
import type { InspectOutput } from './output.ts';
import { type Look, labelled } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';

/** `bench model inspect MODEL.onnx`: the inputs and outputs of a model, and its content. */
export async function inspect(file: string, options: InspectOptions, io: Io): Promise<ExitCode> {
  const facts = await readModelFile(file, io);
  const [suggested, warnings] = [suggestedShapes(facts), inspectWarnings(facts)];
  const output: InspectOutput = { schemaVersion: 1, file, ...facts, suggested, warnings };
  return printResult(io, options, output, inspectText);
}

/** @throws UsageError if it cannot be read */
export async function readModelFile(file: string, io: Io): Promise<OnnxFacts> {
  try {
    return await readOnnxFacts(resolve(io.cwd, file));
  } catch (error) {
    throw new UsageError(`${printable(file)}: ${onnxProblem(error)}`, { cause: error });
  }
}

const PROTOBUF_LIMIT_BYTES = 2 ** 31;

function inspectWarnings(facts: OnnxFacts): string[] {
  const { dataDependentOps, controlFlowOps, customOps, externalFiles, fileBytes } = facts;
  return [
    dataDependentOps.length > 0 &&
      `${opCountsText(dataDependentOps)}: the amount of work depends on the values; random inputs mislead, give real ones (inputs: {INPUT: FILE} in a matrix)`,
    controlFlowOps.length > 0 &&
      `${opCountsText(controlFlowOps)}: the host evaluates them; a CUDA graph is unlikely to be captured or to help`,
    customOps.length > 0 && `${opCountsText(customOps)}: not of ONNX; TensorRT needs plugins for that`,
    ...externalFiles.map(({ location, problem }) => problem !== null && `weights in ${location}: ${problem}`),
    fileBytes >= PROTOBUF_LIMIT_BYTES &&
      '2 GiB or more: protobuf cannot read a file of this size; keep the weights in a separate file',
  ].filter((warning) => warning !== false);
}

function suggestedShapes({ inputs }: OnnxFacts) {
  const dynamic = inputs.filter((input) => input.shape !== null && isDynamic(input));
  if (dynamic.length === 0) return { shapes: 'static', trtexecFlag: null };
  if (dynamic.some(({ name }) => UNREADABLE_NAME.test(name))) return { shapes: null, trtexecFlag: null };
  const templates = dynamic.map(
    ({ name, shape }) => `${yamlText(name)}: [${(shape ?? []).map(matrixDimension).join(', ')}]`,
  );
  return { shapes: `{${templates.join(', ')}}`, trtexecFlag: shellQuote(`--shapes=${openShapes(dynamic)}`) };
}

/** A valid axis name for a dimension. An unnamed first dimension is most likely the batch. */
function matrixDimension(dimension: OnnxDimension, place: number): string {
  if (typeof dimension === 'number') return String(dimension);
  if (dimension === null) return place === 0 ? 'batch' : `dim${place}`;
  const word = dimension.replaceAll(/\W+/g, '_').replace(/^(?=\d)/, '_');
  return /[A-Za-z]/.test(word) ? word : `dim${place}`;
}

function inspectText(facts: InspectOutput, look: Look): string[] {
  const { style, columns } = look;
  const version = facts.opsets.find(({ domain }) => domain === '')?.version;
  const opset = `opset ${version ?? 'unknown'}`;
  const head = [facts.file, formatBytes(facts.fileBytes), opset, `IR ${facts.irVersion}`, facts.producer];
  const { shapes, trtexecFlag } = facts.suggested;
  return [
    style.strong(head.filter(Boolean).map(printable).join(' · ')),
    '',
    ...tensorTable(facts, look),
    '',
    ...factLines(facts).flatMap(([name, text]) => labelled(`${name.padEnd(13)} `, printable(text), columns)),
    '',
    // Never truncate these lines, so that they can be copied.
    ...(shapes === null ? [] : [style.accent(printable(`in a matrix:   shapes: ${shapes}`))]),
    ...(trtexecFlag === null ? [] : [style.accent(printable(`with trtexec:  ${trtexecFlag}`))]),
    ...facts.warnings.flatMap((warning) => labelled('! ', printable(warning), columns).map(style.warn)),
  ];
}

function tensorTable({ inputs, outputs }: OnnxFacts, look: Look): string[] {
  const rows = [
    ...inputs.map((tensor) => ({ role: 'input', ...tensor })),
    ...outputs.map((tensor) => ({ role: 'output', ...tensor })),
  ];
  return renderTable<(typeof rows)[number]>(
    [
      { header: '', text: ({ role }) => role },
      { header: 'name', text: ({ name }) => printable(name), minWidth: 8 },
      { header: 'type', text: ({ elementType }) => elementType },
      { header: 'shape', text: ({ shape }) => printable(shapeText(shape)), minWidth: 8 },
    ],
    rows,
    look,
  );
}

const LISTED_OPS = 40;

function factLines(facts: OnnxFacts): (readonly [string, string])[] {
  const { dequantizeNodes, externalBytes, initializers, inlineBytes, nestedNodes, nodes, ops, quantizeNodes } = facts;
  const operators = ops.map(({ domain, opType, count: times }) => `${opName(domain, opType)}×${times}`);
  const weights = facts.weights.map(
    (of) => `${of.elementType} ${formatBytes(of.bytes)} in ${count(of.tensors, 'tensor')}`,
  );
  const quantized = facts.quantizedTypes.map((entry) => `${entry.elementType} ${entry.nodes}`).join(' · ');
  return [
    ['nodes', `${nodes}, and ${nestedNodes} in control flow and functions`],
    ['operators', shortList(operators, LISTED_OPS, ' · ')],
    [
      'initializers',
      `${initializers}; ${formatBytes(inlineBytes)} in the file, ${formatBytes(externalBytes)} in others`,
    ],
    ['weights', weights.join(' · ')],
    ['quantized', `${quantizeNodes} quantize and ${dequantizeNodes} dequantize${quantized && `: ${quantized}`}`],
  ];
}
