import * as z from 'zod';

import { ExportFormatError } from '../../errors.ts';
import type { Immutable } from '../../records/scalars.ts';
import { parseJson } from './json-repair.ts';

const exported = z.array(
  z.object({ name: z.string(), dimensions: z.string().regex(/^\d+(?:x\d+)*$/), values: z.array(z.number()) }),
);

export type ExportedOutput = Immutable<ReturnType<typeof readExportedOutputs>[number]>;

/** @throws ExportFormatError for anything else; trtexec writes infinite values and NaN as invalid JSON */
export function readExportedOutputs(text: string) {
  const parsed = parseJson(
    text,
    'not JSON: trtexec writes values that are not finite, and final shapes of data-dependent outputs, into it as they are',
  );
  const read = exported.safeParse(parsed);
  if (!read.success) throw new ExportFormatError('not what trtexec --exportOutput writes');
  return read.data.map(({ name, dimensions, values }) => {
    const sizes = dimensions.split('x').map(Number);
    const volume = sizes.reduce((product, size) => product * size, 1);
    if (volume !== values.length) {
      throw new ExportFormatError(`output ${name} has ${values.length} values, its dimensions ${dimensions}`);
    }
    return { name, dimensions: sizes, values };
  });
}
