import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { printable } from '../../text/printable.ts';
import { matrixJsonSchema } from '../../matrix/schema/json-schema.ts';
import { didYouMean } from '../../text/nearest.ts';
import { OUTPUT_NAMES, outputSchema } from './json-schema.ts';
import type { Io } from '../../cli/io.ts';

const NAMES = ['matrix', ...OUTPUT_NAMES];

/** `bench schema NAME`: JSON Schema (draft 2020-12) of what bench reads and writes. */
export function schema(name: string, io: Io): Promise<ExitCode> {
  const found = name === 'matrix' ? matrixJsonSchema() : outputSchema(name);
  if (found === null) {
    throw new UsageError(`no schema ${printable(name)} (there are ${NAMES.join(', ')})${didYouMean(name, NAMES)}`);
  }
  io.out(`${JSON.stringify(found, null, 2)}\n`);
  return Promise.resolve(EXIT_CODES.fine);
}
