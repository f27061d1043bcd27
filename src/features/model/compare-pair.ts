import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import * as z from 'zod';

import { sha256OfFile } from '../../files/files.ts';
import { hashModel } from '../../files/hashes.ts';
import type { MatrixCell } from '../../matrix/matrix.ts';
import { plannedVariant } from '../../matrix/plan/make-plan.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import type { Accuracy, CustomMetric } from '../../records/accuracy.ts';
import type { Precision, PrecisionRoute, Shapes } from '../../records/cell.ts';
import { count } from '../../records/scalars.ts';
import { printable } from '../../text/printable.ts';
import { type HelperContext, askHelper, runProgram } from '../../tools/python/helper.ts';
import type { VariantCache } from '../../variants/variant-cache.ts';
import { findMade } from '../../variants/variants.ts';
import type { AccuracyOptions } from './command.ts';
import type { ComparedRow } from './output.ts';

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

/** The options of the command, with the facts that it takes from them. */
interface ComparisonSettings extends Pick<AccuracyOptions, 'batch' | 'distribution' | 'samples' | 'seed'> {
  /** An npz or npy file; null for random values. */
  readonly data: string | null;
  readonly python: string;
  /** The user's command; `{model}` becomes the path of an ONNX file. */
  readonly metricCommand: readonly string[];
  readonly helper: HelperContext;
}

type Comparison = Pick<ComparedRow, 'referenceSha256' | 'variantSha256' | 'inputs' | 'versions' | 'accuracy'>;

type Failure = { readonly problem: string };

const DEFAULT_SAMPLES = 64;

/** Whether a file is what an engine wrote with `--exportOutput`. */
export function isExport(path: string): boolean {
  return /\.json$/i.test(path);
}

/**
 * Compares the outputs of two ONNX files, or two files that engines wrote with `--exportOutput`.
 * @throws EnvironmentLackingError without Python or onnxruntime, InterruptedError on Ctrl-C
 */
export async function comparePair(pair: AccuracyPair, settings: ComparisonSettings): Promise<Comparison | Failure> {
  const { reference, variant, shapes } = pair;
  const isExported = isExport(reference);
  const missing = [reference, variant].find((path) => !existsSync(path));
  if (missing !== undefined) return { problem: `${printable(missing)}: file not found` };
  const { python, data, seed, distribution, batch, helper } = settings;
  const samples = settings.samples ?? (data === null ? DEFAULT_SAMPLES : null);
  const job = isExported
    ? { exported: [reference, variant] }
    : { reference, variant, data, samples, seed, distribution, batch, shapes };
  const reading = await inTemporaryFolder('accuracy', (folder) => askHelper(COMPARISON, python, job, folder, helper));
  if ('problem' in reading) return reading;
  const custom = await customMetric(pair, settings);
  if (custom !== null && 'problem' in custom) return custom;
  const accuracy = worstOutput(Object.values(reading.outputs), reading.samples, custom);
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
function readMetric(text: string): number | null {
  const word = text.trim().split(/\s+/).at(-1) ?? '';
  return word === '' || !Number.isFinite(Number(word)) ? null : Number(word);
}

type Figures = Omit<Accuracy, 'samples' | 'custom'>;

/** The worst of each figure over several outputs. */
export function worstOutput(outputs: readonly Figures[], samples: number, custom: CustomMetric | null): Accuracy {
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
export function pairsOfMatrix(cells: readonly MatrixCell[], cwd: string, fileOf: VariantFile) {
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
        notes.add(`${model} ${precision}: no ONNX file of its own yet (${precisionVia}); \`bench run\` makes variants`);
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
  /** `notes` name precisions without a file to compare. */
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
