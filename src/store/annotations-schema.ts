import { sql } from 'drizzle-orm';
import { index, integer, real, sqliteTable, text, primaryKey } from 'drizzle-orm/sqlite-core';
import * as z from 'zod';

import { type AccuracyInputs, accuracyInputsSchema, type AccuracyRecord, accuracySchema } from '../records/accuracy.ts';
import { PRECISION_ROUTES, PRECISIONS } from '../records/cell.ts';
import { acknowledgementSchema, type Finding, findingSchema, judgedSweepSchema } from '../records/finding.ts';
import { textByName, type SweepId } from '../records/scalars.ts';
import { PROVENANCES } from '../records/sweep.ts';
import { columnsOf, json, ofCell, ofSweep, sweeps } from './schema.ts';

export const baselines = sqliteTable('baselines', {
  name: text('name').primaryKey(),
  sweepId: ofSweep(),
  reason: text('reason'),
  createdAt: text('created_at')
    .notNull()
    .default(sql`(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`),
});

const { top1: _top1, custom: _custom, ...accuracyNumbers } = accuracySchema.shape;

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
    ...columnsOf(accuracyNumbers),
    top1Same: integer('top1_same'),
    top1Of: integer('top1_of'),
    customName: text('custom_name'),
    customVariant: real('custom_variant'),
    customReference: real('custom_reference'),
    /** Versions of Python, numpy and onnxruntime. */
    versions: json<AccuracyRecord['versions']>('versions', textByName, 'versions').notNull(),
    provenance: text('provenance', { enum: PROVENANCES }).notNull(),
    measuredAt: text('measured_at').notNull(),
  },
  (table) => [
    index('accuracy_by_variant').on(table.variantSha256, table.measuredAt),
    index('accuracy_by_model').on(table.model, table.precision, table.measuredAt),
  ],
);

const texts = z.array(z.string());
const { cells, ...findingFields } = findingSchema.shape;

/** Findings of the gate: see `records/finding.ts`. */
export const findings = sqliteTable(
  'findings',
  {
    ...columnsOf(findingFields),
    findingId: text('finding_id').primaryKey(),
    isWarning: integer('is_warning', { mode: 'boolean' }).notNull(),
    branch: text('git_branch'),
    group: json<readonly string[]>('group_words', texts, 'words of a group').notNull(),
    environmentChanges: json<readonly string[]>('environment_changes', texts, 'changes of an environment').notNull(),
    pairs: json<Finding['pairs']>('pairs', findingSchema.shape.pairs, 'pairs of a finding'),
    firstBadSweepId: ofSweep('first_bad_sweep_id'),
    reportedSweepId: ofSweep('reported_sweep_id'),
    /** Time at which a program was started for it; null if none was, or if it failed. */
    notifiedAt: text('notified_at'),
  },
  (table) => [
    index('findings_by_matrix').on(table.matrix, table.branch),
    index('findings_by_report').on(table.reportedSweepId),
  ],
);

const ofFinding = () =>
  text('finding_id')
    .notNull()
    .references(() => findings.findingId, { onDelete: 'cascade' });

export const findingCells = sqliteTable(
  'finding_cells',
  {
    ...columnsOf(cells.element.shape),
    findingId: ofFinding(),
    cellKey: ofCell().notNull(),
    ciPercent: json<readonly [number, number]>('ci_percent', z.tuple([z.number(), z.number()]), 'bounds'),
    before: real('before_value').notNull(),
    after: real('after_value').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.findingId, table.cellKey, table.metric] }),
    index('finding_cells_by_cell').on(table.cellKey),
  ],
);

/** Acknowledgements by people; the accepted level of a finding is the `after` of its cells. */
export const acknowledgements = sqliteTable('acknowledgements', {
  ...columnsOf(acknowledgementSchema.shape),
  findingId: ofFinding().primaryKey(),
});

/** Sweeps that the gate judged. Those of one check have the same time. */
export const judgedSweeps = sqliteTable('judged_sweeps', {
  ...columnsOf(judgedSweepSchema.shape),
  sweepId: ofSweep().primaryKey(),
});
