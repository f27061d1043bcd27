import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

import * as z from 'zod';

import { ROOT } from '../processes.ts';

/** A true change of a history: what a detector should find, and must not be shown. */
export interface Change {
  /** First night at the new level; of a ramp, its first night. */
  readonly index: number;
  /** Last night of a ramp; of a step, `index`. */
  readonly end: number;
  readonly kind: 'step' | 'ramp';
  /** Relative size; 0 where it is not known. */
  readonly rel: number;
  /** Size over the noise of one night. */
  readonly snr: number | null;
}

/** A history with its labels. One entry a night, null where nothing was measured. */
export interface LabelledHistory {
  readonly id: string;
  readonly scenario: string;
  /** Any positive unit; milliseconds in the simulated ones. */
  readonly values: readonly (number | null)[];
  /** Relative spread of single iterations. */
  readonly spread: readonly (number | null)[];
  readonly count: readonly (number | null)[];
  /** Mean SM clock in MHz. */
  readonly clock: readonly (number | null)[];
  readonly changes: readonly Change[];
}

/** One cell of a matrix on two commits, with its labels. */
export interface LabelledCell {
  readonly matrix: string;
  readonly cell: string;
  /** Runs of iterations in milliseconds. */
  readonly a: readonly (readonly number[])[];
  readonly b: readonly (readonly number[])[];
  /** Medians of earlier nights at the level of `a`, or null. */
  readonly past: readonly number[] | null;
  /** True relative change; 0 for none. */
  readonly rel: number;
}

const nights = z.array(z.number().nullable());

const changeSchema = z
  .object({
    index: z.number(),
    end: z.number().optional(),
    kind: z.enum(['step', 'ramp']).default('step'),
    rel: z.number().default(0),
    snr: z.number().nullable().default(null),
  })
  .transform((change): Change => ({ ...change, end: Math.max(change.index, change.end ?? change.index) }));

const historySchema = z.object({
  id: z.string(),
  scenario: z.string(),
  values: nights,
  spread: nights,
  count: nights,
  clock: nights,
  changes: z.array(changeSchema),
});

const runs = z.array(z.array(z.number()));

const cellSchema = z.object({
  matrix: z.string(),
  cell: z.string(),
  a: runs,
  b: runs,
  past: z.array(z.number()).nullable(),
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
