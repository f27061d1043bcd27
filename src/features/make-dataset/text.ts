import { printable } from '../../text/printable.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';

interface DatasetReport {
  /** As it was named. */
  readonly file: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly options: {
    readonly requests: number;
    readonly input: { readonly mean: number; readonly stdev: number };
    readonly output: { readonly mean: number; readonly stdev: number };
    readonly vocabSize: number;
    readonly seed: number;
  };
}

export function datasetJson({ bytes, file, options, sha256 }: DatasetReport) {
  const { input, output, requests, seed, vocabSize } = options;
  return { schemaVersion: 1, file, sha256, bytes, requests, inputTokens: input, outputTokens: output, vocabSize, seed };
}

export function datasetText(report: DatasetReport, { style }: Look): string[] {
  const { bytes, file, options, sha256 } = report;
  const { input, output, requests, seed, vocabSize } = options;
  return [
    `${printable(file)}: ${count(requests, 'request')}, ${formatBytes(bytes)}`,
    `tokens in ${lengthText(input)}, out ${lengthText(output)}; ids below ${vocabSize}; seed ${seed}`,
    `sha256 ${sha256}`,
    '',
    style.dim('In the matrix, of a harness with kind: trtllm-bench, from the folder of the matrix:'),
    `dataset: ${JSON.stringify(printable(file))}`,
  ];
}

function lengthText({ mean, stdev }: { readonly mean: number; readonly stdev: number }): string {
  return stdev === 0 ? String(mean) : `${mean} ± ${stdev}`;
}
