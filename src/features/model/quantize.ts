import { copyFile, mkdir, rename } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { temporaryPath } from '../../files/layout.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { cannotWrite } from '../../cli/output-file.ts';
import { storePath } from '../../cli/store-location.ts';
import { UsageError, type ExitCode, BenchError, EXIT_CODES } from '../../errors.ts';
import { conversionProblem, withDataFrom } from '../../matrix/models/models.ts';
import type { PlannedVariant } from '../../records/plan.ts';
import type { Precision } from '../../records/cell.ts';
import { formatDuration } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { planVariant } from '../../tools/modelopt/conversion-args.ts';
import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import { CONVERTED_PRECISIONS, problemOf, variantNotes } from '../../records/conversion.ts';
import type { Conversion, Converter } from '../../records/conversion.ts';
import { findConverter, variantsForStore } from '../../variants/converter.ts';
import { provideVariant } from '../../variants/variants.ts';
import type { QuantizeOptions } from './command.ts';
import type { QuantizeOutput } from './output.ts';
import type { FailureReason } from '../../records/outcome.ts';

/** Makes one variant through the cache that sweeps also use. */
export async function quantize(model: string, options: QuantizeOptions, io: Io): Promise<ExitCode> {
  const variant = plannedVariant(model, options, io);
  const output = options.output === undefined ? null : resolve(io.cwd, options.output);
  if (output === variant.onnxPath) throw new UsageError('--output is the model itself');
  const python = await findConverter(options.python ?? null, io);
  const context = variantsForStore(storePath(options.db, io), python, io, (event) => {
    if (event.kind === 'note') io.err(`note: ${printable(event.text)}\n`);
    if (event.kind === 'variantStarted') {
      io.err(`converting ${printable(event.variant.label)} to ${options.precision}\n`);
    }
  });
  const state = await provideVariant(context, variant);
  if (state.kind === 'failed') {
    const log = state.folder === null ? '' : ` (log: ${printable(state.folder)})`;
    throw new ConversionError(`${problemOf(state.failure)}${log}`, state.failure.reason);
  }
  if (output !== null) await copyVariant(state.path, output);
  const { how, path, record, wallS } = state;
  const made: QuantizeOutput = {
    schemaVersion: 1,
    model: variant.onnxPath,
    ...record,
    how,
    path,
    output,
    argv: ['python3', ...variant.args],
    wallS: wallS === null ? null : Number(wallS.toFixed(3)),
    notes: variantNotes(record),
  };
  return printResult(io, options, made, quantizeText);
}

function plannedVariant(model: string, options: QuantizeOptions, io: Io): PlannedVariant {
  const { precision } = options;
  const autocast: readonly Precision[] = CONVERTED_PRECISIONS.autocast;
  const by: Converter = autocast.includes(precision) ? 'autocast' : 'modelopt';
  const stated = statedOptions(by, options);
  const problem = conversionProblem(precision, stated);
  if (problem !== null) throw new UsageError(problem);
  const onnxPath = resolve(io.cwd, model);
  const conversion = withDataFrom(stated, (path) => resolve(io.cwd, path));
  return planVariant({ label: model, precision, onnxPath, options: conversion, shapes: {} });
}

/** Options in the form of a matrix, so that both report the same mistakes. */
function statedOptions(via: Converter, options: QuantizeOptions): Conversion {
  const { attention, calibration: data, calibrationShapes: shapes, keepIoTypes, method, samples, seed } = options;
  const { dqOnly, exclude, excludeOpTypes, highPrecision, opset, opTypes, timeout: timeoutS } = options;
  const unchanged = { via, dqOnly, exclude, excludeOpTypes, highPrecision, opset, opTypes, timeoutS };
  return {
    ...unchanged,
    quantizeAttention: attention ? undefined : false,
    keepIoTypes: keepIoTypes ? undefined : false,
    calibration: { data, method, samples, seed, shapes },
  };
}

/** External data files keep their names, because the model refers to them. */
async function copyVariant(path: string, output: string): Promise<void> {
  try {
    await mkdir(dirname(output), { recursive: true });
    for (const { location } of (await readOnnxFacts(path)).externalFiles) {
      await copyFile(join(dirname(path), location), join(dirname(output), location));
    }
    const temporary = temporaryPath(output);
    await copyFile(path, temporary);
    await rename(temporary, output);
  } catch (error) {
    throw cannotWrite(output, error);
  }
}

function quantizeText({ how, notes, output, path, wallS }: QuantizeOutput): string[] {
  const when = wallS === null ? how : `${how} in ${formatDuration(wallS)}`;
  const [what = '', ...more] = notes;
  return [`${what} (${when})`, ...more, printable(output ?? path)];
}

/** Transient reasons: the same conversion may succeed later. */
const MISHAPS: readonly FailureReason[] = ['timeout', 'killed', 'outOfMemory', 'diskFull'];

export class ConversionError extends BenchError {
  readonly exitCode: ExitCode;

  constructor(problem: string, reason: FailureReason) {
    super(problem);
    this.exitCode = MISHAPS.includes(reason) ? EXIT_CODES.incomplete : EXIT_CODES.wrongUse;
  }
}
