import * as z from 'zod';

import { matrixSchema } from './schema.ts';

/** JSON Schema (draft 2020-12) of the matrix file: editors complete from it. */
export function matrixJsonSchema(): z.core.JSONSchema.BaseSchema {
  return { ...z.toJSONSchema(matrixSchema, { io: 'input' }), title: 'trtbench matrix' };
}
