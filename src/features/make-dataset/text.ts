import { printable } from '../../text/printable.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import type { MakeDatasetOutput } from './output.ts';

export function datasetText(made: MakeDatasetOutput, { style }: Look): string[] {
  const { bytes, file, inputTokens, outputTokens, requests, seed, sha256, vocabSize } = made;
  return [
    `${printable(file)}: ${count(requests, 'request')}, ${formatBytes(bytes)}`,
    `tokens in ${lengthText(inputTokens)}, out ${lengthText(outputTokens)}; ids below ${vocabSize}; seed ${seed}`,
    `sha256 ${sha256}`,
    '',
    style.dim('In the matrix, of a harness with kind: trtllm-bench, from the folder of the matrix:'),
    `dataset: ${JSON.stringify(printable(file))}`,
  ];
}

function lengthText({ mean, stdev }: { readonly mean: number; readonly stdev: number }): string {
  return stdev === 0 ? String(mean) : `${mean} ± ${stdev}`;
}
