import { existsSync, readFileSync } from 'node:fs';

import { sha256OfFile } from '../../artefacts/files.ts';
import { hashModel } from '../../artefacts/hashes.ts';
import { ExportFormatError, UsageError } from '../../errors.ts';
import type { CustomMetric } from '../../records/accuracy.ts';
import { printable } from '../../text/printable.ts';
import { type ExportedOutput, readExportedOutputs } from '../../trtexec/exports/outputs.ts';
import type { HelperContext } from '../../tools/python/helper.ts';
import { type CompareJob, compareOutputs, readMetric, runMetricCommand } from './compare-outputs.ts';
import { compareValues, worstOutput } from './accuracy-figures.ts';
import type { ComparedRow } from './output.ts';
import type { AccuracyPair } from './accuracy-pairs.ts';

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
  const reading = await compareOutputs(python, job, helper);
  if ('problem' in reading) return reading;
  const custom = await customMetric(pair, settings);
  if (custom !== null && 'problem' in custom) return custom;
  const accuracy = worstOutput(Object.values(reading.outputs), reading.samples, custom);
  if (accuracy === null) return { problem: 'the models have no outputs' };
  // Without the first dimension, which counts samples.
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
  const valueOf = async (model: string): Promise<number | Failure> => {
    const argv = metricCommand.map((word) => word.replaceAll('{model}', model));
    const answer = await runMetricCommand(argv, helper);
    if ('problem' in answer) return answer;
    const problem = `${printable(program)} printed no number as the last word of its output`;
    return readMetric(answer.text) ?? { problem };
  };
  const ofVariant = await valueOf(variant);
  if (typeof ofVariant !== 'number') return ofVariant;
  const ofReference = await valueOf(reference);
  if (typeof ofReference !== 'number') return ofReference;
  return { name: metricCommand.join(' '), variant: ofVariant, reference: ofReference };
}

/**
 * Compares two `--exportOutput` files: the engines' own kernels on their own inputs.
 * @throws UsageError for other files, or outputs that differ in names or shapes
 */
export async function compareExports(pair: AccuracyPair): Promise<Comparison> {
  const [reference, variant] = [readOutputs(pair.reference), readOutputs(pair.variant)];
  if (shapesOf(reference) !== shapesOf(variant)) {
    throw new UsageError(printable(`the outputs of the two differ: ${shapesOf(reference)} and ${shapesOf(variant)}`));
  }
  const figures = reference.map(({ name, dimensions, values }) => {
    const other = variant.find((output) => output.name === name)?.values ?? [];
    const found = compareValues(values, other, dimensions);
    if (found !== null) return found;
    throw new UsageError(printable(`output ${name} of the reference is zero everywhere: there is no signal`));
  });
  const accuracy = worstOutput(figures, reference[0]?.dimensions[0] ?? 1, null);
  if (accuracy === null) throw new UsageError(`${printable(pair.reference)}: no outputs in it`);
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
