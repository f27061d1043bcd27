import { readFileSync } from 'node:fs';

import { compareValues } from './compare-values.ts';
import { worstOutput } from './worst-output.ts';
import { sha256OfFile } from '../../artefacts/files.ts';
import { UsageError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import { ExportFormatError } from '../../trtexec/exports/file-format-error.ts';
import { type ExportedOutput, readExportedOutputs } from '../../trtexec/exports/outputs.ts';
import type { Compared } from './compare-pair.ts';
import type { AccuracyPair } from './pairs.ts';

/**
 * Compares what two engines wrote with `--exportOutput`: the engine's own kernels, on whatever inputs they were given.
 * @throws UsageError for files that are no such outputs, or not of the same ones
 */
export async function compareExports(pair: AccuracyPair): Promise<Compared> {
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
    kind: 'compared',
    pair,
    referenceSha256: (await sha256OfFile(pair.reference)).sha256,
    variantSha256: (await sha256OfFile(pair.variant)).sha256,
    inputs: { kind: 'exported' },
    accuracy,
    versions: {},
  };
}

/** Names and dimensions, to be told and to be compared. */
function shapesOf(outputs: readonly ExportedOutput[]): string {
  return outputs
    .map(({ name, dimensions }) => `${name} ${dimensions.join('x')}`)
    .toSorted()
    .join(', ');
}

function readOutputs(path: string): ExportedOutput[] {
  try {
    return readExportedOutputs(readFileSync(path, 'utf8'));
  } catch (error) {
    if (!(error instanceof ExportFormatError)) throw error;
    throw new UsageError(`${printable(path)}: ${printable(error.message)}`, { cause: error });
  }
}
