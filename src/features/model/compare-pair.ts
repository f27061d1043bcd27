import { existsSync, readFileSync } from 'node:fs';

import * as z from 'zod';

import { sha256OfFile } from '../../artefacts/files.ts';
import { hashModel } from '../../artefacts/hashes.ts';
import { ExportFormatError, UsageError } from '../../errors.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import type { Accuracy, CustomMetric, InputDistribution } from '../../records/accuracy.ts';
import type { Shapes } from '../../records/cell.ts';
import { count } from '../../records/scalars.ts';
import { printable } from '../../text/printable.ts';
import { type ExportedOutput, readExportedOutputs } from '../../trtexec/exports/outputs.ts';
import { askHelper, type HelperContext, runProgram } from '../../tools/python/helper.ts';
import type { ComparedRow } from './output.ts';
import type { AccuracyPair } from './accuracy-pairs.ts';

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
 * Compares the outputs of two ONNX files.
 * @throws EnvironmentLackingError without Python or onnxruntime, InterruptedError on Ctrl-C
 */
export async function comparePair(pair: AccuracyPair, settings: ComparisonSettings): Promise<Comparison | Failure> {
  const { reference, variant, shapes } = pair;
  const missing = [reference, variant].find((path) => !existsSync(path));
  if (missing !== undefined) return { problem: `${printable(missing)}: no such file` };
  const { python, data, seed, distribution, batch, helper } = settings;
  const samples = settings.samples ?? (data === null ? DEFAULT_SAMPLES : null);
  const job = { reference, variant, data, samples, seed, distribution, batch, shapes };
  const reading = await compared(python, job, helper);
  if ('problem' in reading) return reading;
  const custom = await customMetric(pair, settings);
  if (custom !== null && 'problem' in custom) return custom;
  const accuracy = worstOutput(Object.values(reading.outputs), reading.samples, custom);
  if (accuracy === null) return { problem: 'the models have no outputs' };
  // Omits the first dimension, which counts samples.
  const sampleShapes = Object.fromEntries(Object.entries(shapes).map(([input, dims]) => [input, dims.slice(1)]));
  return {
    referenceSha256: await hashModel(reference),
    variantSha256: await hashModel(variant),
    inputs:
      data === null
        ? { kind: 'random', seed, distribution, shapes: sampleShapes }
        : { kind: 'file', sha256: (await sha256OfFile(data)).sha256 },
    versions: reading.versions,
    accuracy,
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

function compared(python: string, job: CompareJob | { readonly exported: readonly unknown[] }, helper: HelperContext) {
  return inTemporaryFolder('accuracy', (folder) => askHelper(COMPARISON, python, job, folder, helper));
}

/** The last word of the last line as a number; null if it is not a number. */
export function readMetric(text: string): number | null {
  const word = text.trim().split(/\s+/).at(-1) ?? '';
  return word === '' || !Number.isFinite(Number(word)) ? null : Number(word);
}

/**
 * Compares two `--exportOutput` files, which hold the outputs of the engines' own kernels on the same inputs.
 * @throws UsageError for other files, or outputs that differ in names or shapes
 */
export async function compareExports(
  pair: AccuracyPair,
  { helper, python }: ComparisonSettings,
): Promise<Comparison | Failure> {
  const [reference, variant] = [readOutputs(pair.reference), readOutputs(pair.variant)];
  if (shapesOf(reference) !== shapesOf(variant)) {
    throw new UsageError(printable(`the outputs of the two differ: ${shapesOf(reference)} and ${shapesOf(variant)}`));
  }
  const reading = await compared(python, { exported: [reference, variant] }, helper);
  if ('problem' in reading) return reading;
  const accuracy = worstOutput(Object.values(reading.outputs), reading.samples, null);
  if (accuracy === null) return { problem: `${printable(pair.reference)}: no outputs in it` };
  return {
    referenceSha256: (await sha256OfFile(pair.reference)).sha256,
    variantSha256: (await sha256OfFile(pair.variant)).sha256,
    inputs: { kind: 'exported' },
    versions: {},
    accuracy,
  };
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
