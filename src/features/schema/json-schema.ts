import * as z from 'zod';

import { OUTPUTS } from './outputs.ts';

export const OUTPUT_NAMES: readonly string[] = Object.keys(OUTPUTS);

/** JSON Schema (draft 2020-12) of a `--json` output; null for a name that has none. */
export function outputSchema(name: string): object | null {
  const found = Object.entries(OUTPUTS).find(([known]) => known === name)?.[1];
  return found === undefined ? null : z.toJSONSchema(found);
}
