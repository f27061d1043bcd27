import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

import * as z from 'zod';

import { ROOT } from '../processes.ts';

/** A true change of a history: what a detector should find, and must not be shown. */
export type Change = z.infer<typeof changeSchema>;

const changeSchema = z
  .object({
    /** First night at the new level; of a ramp, its first night. */
    index: z.number(),
    /** Last night of a ramp; of a step, `index`. */
    end: z.number().optional(),
    kind: z.enum(['step', 'ramp']).default('step'),
    /** Relative size; 0 where it is not known. */
    rel: z.number().default(0),
    /** Size over the noise of one night. */
    snr: z.number().nullable().default(null),
  })
  .transform((change) => ({ ...change, end: Math.max(change.index, change.end ?? change.index) }));

/** One entry a night, null where nothing was measured. */
const nights = z.array(z.number().nullable()).readonly();

/** A history with its labels. */
export type LabelledHistory = z.infer<typeof historySchema>;

const historySchema = z.object({
  id: z.string(),
  scenario: z.string(),
  /** Any positive unit; milliseconds in the simulated ones. */
  values: nights,
  /** Relative spread of single iterations. */
  spread: nights,
  count: nights,
  /** Mean SM clock in MHz. */
  clock: nights,
  changes: z.array(changeSchema).readonly(),
});

/** Of iterations in milliseconds. */
const runs = z.array(z.array(z.number()).readonly()).readonly();

/** One cell of a matrix on two commits, with its labels. */
export type LabelledCell = z.infer<typeof cellSchema>;

const cellSchema = z.object({
  matrix: z.string(),
  cell: z.string(),
  a: runs,
  b: runs,
  /** Medians of earlier nights at the level of `a`, or null. */
  past: z.array(z.number()).readonly().nullable(),
  /** True relative change; 0 for none. */
  rel: z.number(),
});

const FOLDER = join(ROOT, 'test', 'fixtures', 'detection');

/** The text of a packed file of JSON lines, such as `synthetic-dev`. */
export function packedText(name: string): string {
  return brotliDecompressSync(readFileSync(join(FOLDER, `${name}.jsonl.br`))).toString('utf8');
}

/** The records of JSON lines. */
export function jsonLines<Record>(text: string, schema: z.ZodType<Record>): Record[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => schema.parse(JSON.parse(line)));
}

export function packedHistories(name: 'synthetic-dev' | 'labelled'): LabelledHistory[] {
  return jsonLines(packedText(name), historySchema);
}

export function packedCells(): LabelledCell[] {
  return jsonLines(packedText('ab-dev'), cellSchema);
}
