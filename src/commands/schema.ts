import { UsageError } from '../domain/errors.ts';
import { EXIT_CODES, type ExitCode } from '../domain/exit-codes.ts';
import { printable } from '../domain/printable.ts';
import { jsonSchemaOf, SCHEMA_NAMES } from '../matrix/json-schema.ts';
import { didYouMean } from '../matrix/suggest.ts';
import type { Io } from './io.ts';

/** `bench schema NAME`: JSON Schema (draft 2020-12) of what bench reads and writes. */
export function schema(name: string, io: Io): Promise<ExitCode> {
  const found = jsonSchemaOf(name);
  if (found === null) {
    throw new UsageError(
      `no schema ${printable(name)} (there are ${SCHEMA_NAMES.join(', ')})${didYouMean(name, SCHEMA_NAMES)}`,
    );
  }
  io.out(`${JSON.stringify(found, null, 2)}\n`);
  return Promise.resolve(EXIT_CODES.fine);
}
