import { UsageError } from '../domain/errors.ts';
import { EXIT_CODES, type ExitCode } from '../domain/exit-codes.ts';
import { printable } from '../domain/printable.ts';
import { matrixJsonSchema } from '../matrix/json-schema.ts';
import { didYouMean } from '../matrix/suggest.ts';
import { OUTPUT_NAMES, outputSchema } from '../report/json-output/json-schema.ts';
import type { Io } from './io.ts';

const NAMES = ['matrix', ...OUTPUT_NAMES];

/** `bench schema NAME`: JSON Schema (draft 2020-12) of what bench reads and writes. */
export function schema(name: string, io: Io): Promise<ExitCode> {
  const found = name === 'matrix' ? matrixJsonSchema() : outputSchema(name);
  if (found === null) {
    throw new UsageError(
      `no schema ${printable(name)} (there are ${NAMES.join(', ')})${didYouMean(name, NAMES)}`,
    );
  }
  io.out(`${JSON.stringify(found, null, 2)}\n`);
  return Promise.resolve(EXIT_CODES.fine);
}
