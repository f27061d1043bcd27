import * as z from 'zod';

import { type OutputOf, count as countSchema, id, instant, output, provenance } from '../../records/output-parts.ts';
import { DATE_SOURCES, type DateSource } from '../../records/sweep.ts';
import { leftOutSchema } from '../../selection/find-runs.ts';
import { type Look, wrapWords } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { numberColumn, renderTable } from '../../terminal/table.ts';
import { printable } from '../../text/printable.ts';

type ImportedSweep = ImportOutput['sweeps'][number];

const DATE_WORDS: Readonly<Record<DateSource, string>> = { runJson: 'run.json', logStamps: 'log', option: '--date' };

export function importText({ sweeps }: ImportOutput, storePath: string, look: Look): string[] {
  const stored = sweeps.reduce((sum, entry) => sum + entry.stored, 0);
  const already = sweeps.reduce((sum, entry) => sum + entry.alreadyStored, 0);
  const table = renderTable<ImportedSweep>(
    [
      { header: 'sweep', text: ({ sweepId }) => sweepId.slice(0, 8) },
      { header: 'name', text: ({ name }) => printable(name ?? ''), minWidth: 12 },
      { header: 'date', text: ({ startedAt }) => (startedAt ?? '–').slice(0, 16).replace('T', ' ') },
      { header: 'from', text: ({ datesFrom }) => datesFrom.map((source) => DATE_WORDS[source]).join(', ') || '–' },
      { header: 'provenance', text: (entry) => entry.provenance, dropRank: 2 },
      numberColumn('new', (entry) => String(entry.stored)),
      numberColumn('there', (entry) => String(entry.alreadyStored), 3),
      numberColumn('measured', ({ outcomes }) => String(outcomes.measured)),
      numberColumn('built', ({ outcomes }) => String(outcomes.built), 1),
      numberColumn('unfit', ({ outcomes }) => String(outcomes.unfit), 1),
      numberColumn('failed', ({ outcomes }) => String(outcomes.failed)),
    ],
    sweeps,
    look,
  );
  const there = already === 0 ? '' : `, ${already} already stored`;
  const kept = 'stored runs stay as they are: to change them, bench db rm SWEEP, then import again';
  const notes = already === 0 ? [] : wrapWords(kept, look.columns).map(look.style.dim);
  return [...table, '', `${count(stored, 'run')} stored in ${printable(storePath)}${there}`, ...notes];
}

const outcomes = { measured: countSchema, built: countSchema, unfit: countSchema, failed: countSchema };
const counts = { stored: countSchema, alreadyStored: countSchema, outcomes: z.strictObject(outcomes) };
const dates = { startedAt: instant.nullable(), datesFrom: z.array(z.enum(DATE_SOURCES)) };

export const importOutput = output('bench import --json', {
  leftOut: leftOutSchema,
  sweeps: z.array(z.strictObject({ sweepId: id, name: z.string().nullable(), provenance, ...counts, ...dates })),
});

export type ImportOutput = OutputOf<typeof importOutput>;
