import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import * as z from 'zod';

import { sha256OfFile } from '../../files/files.ts';
import { hashModel } from '../../files/hashes.ts';
import { ExportFormatError, UsageError } from '../../errors.ts';
import type { MatrixCell } from '../../matrix/matrix.ts';
import { plannedVariant } from '../../matrix/plan/make-plan.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import type { Accuracy, CustomMetric, InputDistribution } from '../../records/accuracy.ts';
import type { Precision, PrecisionRoute, Shapes } from '../../records/cell.ts';
import { type Immutable, count } from '../../records/scalars.ts';
import { printable } from '../../text/printable.ts';
import { type HelperContext, askHelper, runProgram } from '../../tools/python/helper.ts';
import { parseJson } from '../../trtexec/exports/json-repair.ts';
import type { VariantCache } from '../../variants/variant-cache.ts';
import { findMade } from '../../variants/variants.ts';
import type { ComparedRow } from './output.ts';

/** Input of `python/compare_outputs.py`. */
interface CompareJob {
  readonly reference: string;
  readonly variant: string;
  /** An npz or npy file; null for random values. */
  readonly data: string | null;
  /** Null for all samples of the file. */
  readonly samples: number | null;
  readonly seed: number;
  readonly distribution: InputDistribution;
  /** Size of an open batch. */
  readonly batch: number;
  readonly shapes: Shapes;
}

const NEEDS = 'numpy and onnxruntime';

export const COMPARISON = {
  script: 'compare_outputs.py',
  needs: NEEDS,
  answer: z.object({
    samples: z.number().int().min(1),
    outputs: z.record(
      z.string(),
      z.object({
        sqnrDb: z.number().nullable(),
        relativeError: z.number().min(0),
        cosineMin: z.number(),
        cosineMean: z.number(),
        maxAbsError: z.number().min(0),
        top1: z.object({ same: count, of: z.number().int().min(1) }).nullable(),
      }),
    ),
    versions: z.record(z.string(), z.string()),
  }),
};

/** Common to all comparisons of a command. */
export interface ComparisonSettings extends Omit<CompareJob, 'reference' | 'variant' | 'shapes'> {
  readonly python: string;
  /** The user's command; `{model}` becomes the path of an ONNX file. */
  readonly metricCommand: readonly string[];
  readonly helper: HelperContext;
}

type Comparison = Pick<ComparedRow, 'referenceSha256' | 'variantSha256' | 'inputs' | 'versions' | 'accuracy'>;

interface Failure {
  readonly problem: string;
}

const DEFAULT_SAMPLES = 64;

/**
 * Compares the outputs of two ONNX files, or two files that engines wrote with `--exportOutput`.
 * @throws UsageError for files that hold no outputs, or outputs that differ in names or shapes
 * @throws EnvironmentLackingError without Python or onnxruntime, InterruptedError on Ctrl-C
 */
export async function comparePair(
  pair: AccuracyPair,
  isExported: boolean,
  settings: ComparisonSettings,
): Promise<Comparison | Failure> {
  const { reference, variant, shapes } = pair;
  const missing = [reference, variant].find((path) => !existsSync(path));
  if (missing !== undefined) return { problem: `${printable(missing)}: file not found` };
  const { python, data, seed, distribution, batch, helper } = settings;
  const samples = settings.samples ?? (data === null ? DEFAULT_SAMPLES : null);
  const job = isExported
    ? { exported: exportedOutputs(reference, variant) }
    : { reference, variant, data, samples, seed, distribution, batch, shapes };
  const reading = await inTemporaryFolder('accuracy', (folder) => askHelper(COMPARISON, python, job, folder, helper));
  if ('problem' in reading) return reading;
  const custom = await customMetric(pair, settings);
  if (custom !== null && 'problem' in custom) return custom;
  const accuracy = worstOutput(Object.values(reading.outputs), reading.samples, custom);
  if (accuracy === null) return { problem: `${printable(reference)}: it has no outputs to compare` };
  const [referenceSha256, variantSha256] = [await hashModel(reference), await hashModel(variant)];
  const same = { referenceSha256, variantSha256, accuracy };
  if (isExported) return { ...same, inputs: { kind: 'exported' }, versions: {} };
  // Omits the first dimension, which counts samples.
  const sampleShapes = Object.fromEntries(Object.entries(shapes).map(([input, dims]) => [input, dims.slice(1)]));
  return {
    ...same,
    inputs:
      data === null
        ? { kind: 'random', seed, distribution, shapes: sampleShapes }
        : { kind: 'file', sha256: (await sha256OfFile(data)).sha256 },
    versions: reading.versions,
  };
}

async function customMetric(
  { reference, variant }: AccuracyPair,
  { metricCommand, helper }: ComparisonSettings,
): Promise<CustomMetric | Failure | null> {
  const [program] = metricCommand;
  if (program === undefined) return null;
  const values: number[] = [];
  for (const model of [reference, variant]) {
    const argv = metricCommand.map((word) => word.replaceAll('{model}', model));
    const answer = await inTemporaryFolder('accuracy', (folder) => runProgram(argv, folder, helper, NEEDS));
    if ('problem' in answer) return answer;
    const value = readMetric(answer.text);
    if (value === null) return { problem: `${printable(program)} printed no number as the last word of its output` };
    values.push(value);
  }
  const [ofReference = 0, ofVariant = 0] = values;
  return { name: metricCommand.join(' '), variant: ofVariant, reference: ofReference };
}

/** The last word of the last line as a number; null if it is not a number. */
export function readMetric(text: string): number | null {
  const word = text.trim().split(/\s+/).at(-1) ?? '';
  return word === '' || !Number.isFinite(Number(word)) ? null : Number(word);
}

function exportedOutputs(...paths: readonly string[]): ExportedOutput[][] {
  const outputs = paths.map(readOutputs);
  const [ofReference, ofVariant] = outputs.map(shapesOf);
  if (ofReference === ofVariant) return outputs;
  throw new UsageError(printable(`the two have different outputs: ${ofReference} and ${ofVariant}`));
}

function shapesOf(outputs: readonly ExportedOutput[]): string {
  const shapes = outputs.map(({ name, dimensions }) => `${name} ${dimensions.join('x')}`);
  return shapes.toSorted().join(', ');
}

function readOutputs(path: string): ExportedOutput[] {
  try {
    return readExportedOutputs(readFileSync(path, 'utf8'));
  } catch (error) {
    if (!(error instanceof ExportFormatError)) throw error;
    throw new UsageError(`${printable(path)}: ${printable(error.message)}`, { cause: error });
  }
}

type Figures = Omit<Accuracy, 'samples' | 'custom'>;

/** The worst of each figure over several outputs. */
export function worstOutput(
  outputs: readonly Figures[],
  samples: number,
  custom: CustomMetric | null,
): Accuracy | null {
  if (outputs.length === 0) return null;
  const ratios = outputs.flatMap(({ sqnrDb }) => sqnrDb ?? []);
  const agreements = outputs.flatMap(({ top1 }) => top1 ?? []).toSorted((a, b) => a.same / a.of - b.same / b.of);
  return {
    sqnrDb: ratios.length === 0 ? null : Math.min(...ratios),
    relativeError: Math.max(...outputs.map(({ relativeError }) => relativeError)),
    cosineMin: Math.min(...outputs.map(({ cosineMin }) => cosineMin)),
    cosineMean: Math.min(...outputs.map(({ cosineMean }) => cosineMean)),
    maxAbsError: Math.max(...outputs.map(({ maxAbsError }) => maxAbsError)),
    top1: agreements[0] ?? null,
    samples,
    custom,
  };
}

export interface AccuracyPair {
  readonly model: string;
  /** Null when unknown; nothing is stored then. */
  readonly precision: Precision | null;
  readonly precisionVia: PrecisionRoute;
  readonly referencePrecision: Precision | null;
  readonly reference: string;
  readonly variant: string;
  /** Sizes for open dimensions. */
  readonly shapes: Shapes;
}

export interface MatrixPairs {
  readonly pairs: readonly AccuracyPair[];
  /** Precisions without a file to compare. */
  readonly notes: readonly string[];
}

/** Returns the ONNX file of a cell's engine; null if there is none yet. */
type VariantFile = (entry: MatrixCell) => string | null;

/** Files of the matrix, and variants that `bench run` made with the options of the cell. */
export async function filesOfCells(cells: readonly MatrixCell[], cache: VariantCache): Promise<VariantFile> {
  const made = new Map<string, string | null>();
  for (const entry of cells) {
    const variant = plannedVariant(entry);
    if (variant === null || made.has(variant.variantRef)) continue;
    made.set(variant.variantRef, (await findMade(cache, variant))?.path ?? null);
  }
  return (entry) => {
    const variant = plannedVariant(entry);
    if (variant === null) return entry.build.source.kind === 'onnx' ? entry.build.source.onnx.value : null;
    return made.get(variant.variantRef) ?? null;
  };
}

const REFERENCES: readonly Precision[] = ['fp32', 'tf32', 'fp16'];

/** Pairs the variants of each model with its reference: the base model or its FP32 file, else its FP16 file. */
export function pairsOfMatrix(cells: readonly MatrixCell[], cwd: string, fileOf: VariantFile): MatrixPairs {
  const pairs = new Map<string, AccuracyPair>();
  const notes = new Set<string>();
  for (const [model, own] of Map.groupBy(cells, ({ cell }) => cell.model)) {
    const reference = referenceOf(own, fileOf);
    if (reference === null) {
      notes.add(`${model}: no ONNX file of fp32 or fp16 to compare with`);
      continue;
    }
    for (const entry of own) {
      const { precision, precisionVia, shapes } = entry.cell;
      if (precision === 'unstated' || precision === reference.precision) continue;
      const file = fileOf(entry);
      if (file === null || file === reference.path) {
        const why =
          entry.build.source.kind === 'converted'
            ? `not made yet with these options (${precisionVia}): \`bench run\` makes it`
            : `no ONNX file of its own (${precisionVia})`;
        notes.add(`${model} ${precision}: ${why}`);
        continue;
      }
      const key = JSON.stringify([model, precision, precisionVia, file]);
      if (pairs.has(key)) continue;
      pairs.set(key, {
        model,
        precision,
        precisionVia,
        referencePrecision: reference.precision,
        reference: resolve(cwd, reference.path),
        variant: resolve(cwd, file),
        shapes,
      });
    }
  }
  return { pairs: [...pairs.values()], notes: [...notes] };
}

function referenceOf(cells: readonly MatrixCell[], fileOf: VariantFile) {
  // Conversions start from the base model.
  const base = cells.find(({ build }) => build.source.kind === 'converted')?.build.source;
  for (const precision of REFERENCES) {
    const own = cells.filter(({ cell }) => cell.precision === precision).flatMap((entry) => fileOf(entry) ?? []);
    const path = own[0] ?? (precision === 'fp32' && base?.kind === 'converted' ? base.onnx.value : undefined);
    if (path !== undefined) return { precision, path };
  }
  return null;
}

const exported = z.array(
  z.object({ name: z.string(), dimensions: z.string().regex(/^\d+(?:x\d+)*$/), values: z.array(z.number()) }),
);

type ExportedOutput = Immutable<ReturnType<typeof readExportedOutputs>[number]>;

/** @throws ExportFormatError for anything else; trtexec writes infinite values and NaN as invalid JSON */
export function readExportedOutputs(text: string) {
  const parsed = parseJson(
    text,
    'not JSON: trtexec does not quote non-finite values or final shapes of data-dependent outputs',
  );
  const read = exported.safeParse(parsed);
  if (!read.success) throw new ExportFormatError('not a file of trtexec --exportOutput');
  return read.data.map(({ name, dimensions, values }) => {
    const sizes = dimensions.split('x').map(Number);
    const volume = sizes.reduce((product, size) => product * size, 1);
    if (volume !== values.length) {
      throw new ExportFormatError(`output ${name} has ${values.length} values, its dimensions ${dimensions}`);
    }
    return { name, dimensions: sizes, values };
  });
}
