import * as z from 'zod';

import { matrixSchema } from './schema.ts';

export const SCHEMA_NAMES: readonly string[] = ['matrix'];

/** Null for a name that has none. */
export function jsonSchemaOf(name: string): object | null {
  if (name !== 'matrix') return null;
  return {
    ...z.toJSONSchema(matrixSchema, { io: 'input' }),
    title: 'trtbench matrix',
  };
}
