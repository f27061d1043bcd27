import { sql } from 'drizzle-orm';
import { index, integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';

import { type AccuracyInputs, accuracyInputsSchema, type AccuracyRecord } from '../records/accuracy.ts';
import { PRECISION_ROUTES, PRECISIONS } from '../records/cell.ts';
import { textByName, type SweepId } from '../records/scalars.ts';
import { PROVENANCES } from '../records/sweep.ts';
import { json, ofSweep, sweeps } from './schema.ts';

export const baselines = sqliteTable('baselines', {
  name: text('name').primaryKey(),
  sweepId: ofSweep(),
  reason: text('reason'),
  createdAt: text('created_at')
    .notNull()
    .default(sql`(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`),
});

/** Output error of a variant against its reference: see `records/accuracy.ts`. */
export const accuracies = sqliteTable(
  'accuracy',
  {
    accuracyId: text('accuracy_id').primaryKey(),
    sweepId: text('sweep_id')
      .$type<SweepId>()
      .references(() => sweeps.sweepId, { onDelete: 'set null' }),
    model: text('model').notNull(),
    precision: text('precision', { enum: PRECISIONS }).notNull(),
    precisionVia: text('precision_via', { enum: PRECISION_ROUTES }).notNull(),
    referenceSha256: text('reference_sha256').notNull(),
    variantSha256: text('variant_sha256').notNull(),
    inputs: json<AccuracyInputs>('inputs', accuracyInputsSchema, 'inputs of a model').notNull(),
    samples: integer('samples').notNull(),
    /** Null if no value differs. */
    sqnrDb: real('sqnr_db'),
    relativeError: real('relative_error').notNull(),
    cosineMin: real('cosine_min').notNull(),
    cosineMean: real('cosine_mean').notNull(),
    maxAbsError: real('max_abs_error').notNull(),
    top1Same: integer('top1_same'),
    top1Of: integer('top1_of'),
    customName: text('custom_name'),
    customVariant: real('custom_variant'),
    customReference: real('custom_reference'),
    /** Of Python, numpy and onnxruntime. */
    versions: json<AccuracyRecord['versions']>('versions', textByName, 'versions').notNull(),
    provenance: text('provenance', { enum: PROVENANCES }).notNull(),
    measuredAt: text('measured_at').notNull(),
  },
  (table) => [
    index('accuracy_by_variant').on(table.variantSha256, table.measuredAt),
    index('accuracy_by_model').on(table.model, table.precision, table.measuredAt),
  ],
);
