import { index, integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import * as z from 'zod';

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
import { PROVENANCES } from '../records/sweep.ts';
import { json, cells, ofSweep, sweeps } from './schema.ts';
import type { CellKey, SweepId } from '../records/scalars.ts';

const texts = z.array(z.string());

/** What the gate reports: see `records/finding.ts`. */
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
    firstBadSweepId: text('first_bad_sweep_id')
      .$type<SweepId>()
      .notNull()
      .references(() => sweeps.sweepId, { onDelete: 'cascade' }),
    /** The last sweep that was off; null while that is not known. */
    lastBadSweepId: text('last_bad_sweep_id').$type<SweepId>(),
    reportedSweepId: text('reported_sweep_id')
      .$type<SweepId>()
      .notNull()
      .references(() => sweeps.sweepId, { onDelete: 'cascade' }),
    owner: text('owner'),
    /** When a program was started because of it; null: no program was, or it failed. */
    notifiedAt: text('notified_at'),
  },
  (table) => [
    index('findings_by_matrix').on(table.matrix, table.branch),
    index('findings_by_report').on(table.reportedSweepId),
  ],
);

/** Of a row that goes with its finding. */
const ofFinding = () =>
  text('finding_id')
    .notNull()
    .references(() => findings.findingId, { onDelete: 'cascade' });

export const findingCells = sqliteTable(
  'finding_cells',
  {
    findingId: ofFinding(),
    cellKey: text('cell_key')
      .$type<CellKey>()
      .notNull()
      .references(() => cells.cellKey),
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

/** Somebody said that a finding may stay; its accepted level is the `after` of its cells. */
export const acknowledgements = sqliteTable('acknowledgements', {
  findingId: ofFinding().primaryKey(),
  reason: text('reason').notNull(),
  until: text('until'),
  owner: text('owner'),
  createdAt: text('created_at').notNull(),
});

/** Sweeps that the gate judged. Those judged in one check have the same time. */
export const judgedSweeps = sqliteTable('judged_sweeps', {
  sweepId: ofSweep().primaryKey(),
  judgedAt: text('judged_at').notNull(),
  judgedBy: text('judged_by', { enum: JUDGED_BY }).notNull(),
  failedCells: integer('failed_cells'),
});
