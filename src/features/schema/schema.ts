import * as z from 'zod';

import type { outputsOf } from '../../cli/define-command.ts';
import type { Io } from '../../cli/io.ts';
import { UsageError, EXIT_CODES, type ExitCode } from '../../errors.ts';
import { matrixJsonSchema } from '../../matrix/schema/schema.ts';
import { didYouMean } from '../../text/nearest.ts';
import { printable } from '../../text/printable.ts';

export async function schema(name: string, outputs: ReturnType<typeof outputsOf>, io: Io): Promise<ExitCode> {
  const found = name === 'matrix' ? matrixJsonSchema() : await outputSchema(name, outputs);
  io.out(`${JSON.stringify(found, null, 2)}\n`);
  return EXIT_CODES.fine;
}

async function outputSchema(name: string, outputs: ReturnType<typeof outputsOf>): Promise<object> {
  const load = new Map(Object.entries(outputs)).get(name);
  if (load !== undefined) return z.toJSONSchema(await load());
  const names = ['matrix', ...Object.keys(outputs)];
  throw new UsageError(`no schema ${printable(name)} (there are ${names.join(', ')})${didYouMean(name, names)}`);
}
