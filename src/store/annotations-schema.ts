import { sql } from 'drizzle-orm';
import { index, integer, real, sqliteTable, text, primaryKey } from 'drizzle-orm/sqlite-core';
import * as z from 'zod';

import { type AccuracyInputs, accuracyInputsSchema, type AccuracyRecord } from '../records/accuracy.ts';
import { PRECISION_ROUTES, PRECISIONS } from '../records/cell.ts';
import {
  type Finding,
  FINDING_CAUSES,
  FINDING_KINDS,
  FINDING_STATES,
  JUDGED_BY,
  LASTING_EVIDENCE,
  findingSchema,
} from '../records/finding.ts';
import type { GatedMetricId } from '../records/gated-metric.ts';
import { textByName, type SweepId } from '../records/scalars.ts';
import { PROVENANCES } from '../records/sweep.ts';
import { json, ofCell, ofSweep, sweeps } from './schema.ts';

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

/** Findings of the gate: see `records/finding.ts`. */
export const findings = sqliteTable(
  'findings',
  {
    findingId: text('finding_id').primaryKey(),
    kind: text('kind', { enum: FINDING_KINDS }).notNull(),
    isWarning: integer('is_warning', { mode: 'boolean' }).notNull(),
    provenance: text('provenance', { enum: PROVENANCES }).notNull(),
    branch: text('git_branch'),
    matrix: text('matrix'),
    direction: text('direction', { enum: ['slower', 'faster'] }).notNull(),
    state: text('state', { enum: FINDING_STATES }).notNull(),
    group: json<readonly string[]>('group_words', texts, 'words of a group').notNull(),
    lasts: text('lasts', { enum: LASTING_EVIDENCE }),
    cause: text('cause', { enum: FINDING_CAUSES }),
    environmentChanges: json<readonly string[]>('environment_changes', texts, 'changes of an environment').notNull(),
    pairs: json<Finding['pairs']>('pairs', findingSchema.shape.pairs, 'pairs of a finding'),
    lastGoodSweepId: text('last_good_sweep_id').$type<SweepId>(),
    firstBadSweepId: ofSweep('first_bad_sweep_id'),
    /** The last sweep with the change; null while unknown. */
    lastBadSweepId: text('last_bad_sweep_id').$type<SweepId>(),
    reportedSweepId: ofSweep('reported_sweep_id'),
    owner: text('owner'),
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
    findingId: ofFinding(),
    cellKey: ofCell().notNull(),
    metric: text('metric').$type<GatedMetricId>().notNull(),
    changePercent: real('change_percent').notNull(),
    ciPercent: json<readonly [number, number]>('ci_percent', z.tuple([z.number(), z.number()]), 'bounds'),
    margin: real('margin').notNull(),
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
  findingId: ofFinding().primaryKey(),
  reason: text('reason').notNull(),
  until: text('until'),
  owner: text('owner'),
  createdAt: text('created_at').notNull(),
});

/** Sweeps that the gate judged. Those of one check have the same time. */
export const judgedSweeps = sqliteTable('judged_sweeps', {
  sweepId: ofSweep().primaryKey(),
  judgedAt: text('judged_at').notNull(),
  judgedBy: text('judged_by', { enum: JUDGED_BY }).notNull(),
  failedCells: integer('failed_cells'),
});
