import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { worstOutput } from './worst-output.ts';
import { sha256OfFile } from '../../artefacts/files.ts';
import { hashModel } from '../../artefacts/model-hash.ts';
import type { Accuracy, AccuracyInputs, CustomMetric, InputDistribution } from '../../records/accuracy.ts';
import { EnvironmentLackingError, InterruptedError, UsageError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import { readComparison, readMetric } from './comparison.ts';
import { compareOutputs, type HelperAnswer, type HelperContext, runMetricCommand } from './compare-outputs.ts';
import { packageFolder } from '../../cli/store-location.ts';
import type { AccuracyPair } from './pairs.ts';

/** What belongs to all comparisons of one command. */
export interface ComparisonSettings {
  readonly python: string;
  readonly data: string | null;
  readonly samples: number | null;
  readonly seed: number;
  readonly distribution: InputDistribution;
  readonly batch: number;
  /** The user's own command; `{model}` in it becomes the path of an ONNX file. */
  readonly metricCommand: readonly string[];
  readonly helper: HelperContext;
}

export interface Compared {
  readonly kind: 'compared';
  readonly pair: AccuracyPair;
  readonly referenceSha256: string;
  readonly variantSha256: string;
  readonly inputs: AccuracyInputs;
  readonly accuracy: Accuracy;
  readonly versions: Readonly<Record<string, string>>;
}

export interface NotCompared {
  readonly kind: 'failed';
  readonly pair: AccuracyPair;
  readonly problem: string;
}

const DEFAULT_SAMPLES = 64;

/**
 * Compares the outputs of two files.
 * @throws EnvironmentLackingError when Python or onnxruntime is not there, InterruptedError on Ctrl-C
 */
export async function comparePair(pair: AccuracyPair, settings: ComparisonSettings): Promise<Compared | NotCompared> {
  const failed = (problem: string): NotCompared => ({ kind: 'failed', pair, problem });
  for (const path of [pair.reference, pair.variant]) {
    if (!existsSync(path)) return failed(`${printable(path)}: no such file`);
  }
  const { python, data, seed, distribution, batch, helper } = settings;
  const script = join(packageFolder(), 'python', 'compare_outputs.py');
  const samples = settings.samples ?? (data === null ? DEFAULT_SAMPLES : null);
  const { reference, variant, shapes } = pair;
  const job = { reference, variant, data, samples, seed, distribution, batch, shapes };
  const answer = settled(await compareOutputs(python, script, job, helper));
  if (answer.kind === 'failed') return failed(answer.problem);
  const reading = readComparison(answer.text);
  if (reading.kind === 'problem') {
    if (reading.isLacking) throw new EnvironmentLackingError(printable(reading.problem));
    return failed(printable(reading.problem));
  }
  const custom = await customMetric(pair, settings);
  if (custom?.kind === 'failed') return failed(custom.problem);
  const accuracy = worstOutput([...reading.outputs.values()], reading.samples, custom?.metric ?? null);
  if (accuracy === null) return failed('the models have no outputs');
  return {
    kind: 'compared',
    pair,
    referenceSha256: await hashModel(pair.reference),
    variantSha256: await hashModel(pair.variant),
    inputs:
      data === null
        ? { kind: 'random', seed, distribution, shapes: sampleShapes(pair) }
        : { kind: 'file', sha256: (await sha256OfFile(data)).sha256 },
    accuracy,
    versions: reading.versions,
  };
}

/** Without the first dimension: samples are counted apart. */
function sampleShapes({ shapes }: AccuracyPair): AccuracyPair['shapes'] {
  return Object.fromEntries(Object.entries(shapes).map(([input, dims]) => [input, dims.slice(1)]));
}

type CustomAnswer =
  | { readonly kind: 'metric'; readonly metric: CustomMetric }
  | { readonly kind: 'failed'; readonly problem: string };

async function customMetric(
  { reference, variant }: AccuracyPair,
  { metricCommand, helper }: ComparisonSettings,
): Promise<CustomAnswer | null> {
  if (metricCommand.length === 0) return null;
  const numbers: number[] = [];
  for (const model of [variant, reference]) {
    const command = metricCommand.map((word) => word.replaceAll('{model}', model));
    const answer = settled(await runMetricCommand(command, helper));
    if (answer.kind === 'failed') return { kind: 'failed', problem: answer.problem };
    const value = readMetric(answer.text);
    if (value === null) {
      const [program = ''] = metricCommand;
      return { kind: 'failed', problem: `${printable(program)} printed no number as the last word of its output` };
    }
    numbers.push(value);
  }
  const [ofVariant = 0, ofReference = 0] = numbers;
  return { kind: 'metric', metric: { name: metricCommand.join(' '), variant: ofVariant, reference: ofReference } };
}

/** What no other pair would survive either is thrown. */
function settled(answer: HelperAnswer): Extract<HelperAnswer, { kind: 'answered' | 'failed' }> {
  switch (answer.kind) {
    case 'cancelled':
      throw new InterruptedError('interrupted');
    case 'lacking':
      throw new EnvironmentLackingError(
        `${answer.problem}; name a Python with numpy and onnxruntime: --python or $BENCH_PYTHON`,
      );
    default:
      return answer;
  }
}

/** @throws UsageError for a command that would measure the same thing twice */
export function checkMetricCommand(command: readonly string[]): void {
  if (command.length > 0 && !command.some((word) => word.includes('{model}'))) {
    throw new UsageError('the metric command needs {model} where the path of the ONNX file goes');
  }
}
