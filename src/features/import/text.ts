import type { Outcome } from '../../records/outcome.ts';
import type { DateSource, Sweep } from '../../records/sweep.ts';
import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { renderTable } from '../../terminal/table.ts';
import { wrapWords } from '../../terminal/text-width.ts';

interface ImportedSweep {
  readonly sweep: Sweep;
  readonly stored: number;
  readonly alreadyStored: number;
  readonly outcomes: Readonly<Record<Outcome['kind'], number>>;
  readonly datesFrom: readonly DateSource[];
  readonly redated: number;
}

const DATE_WORDS: Readonly<Record<DateSource, string>> = { runJson: 'run.json', logStamps: 'log', option: '--date' };

export function importJson(imported: readonly ImportedSweep[]) {
  return {
    schemaVersion: 1,
    sweeps: imported.map(({ sweep, stored, alreadyStored, outcomes, datesFrom }) => ({
      sweepId: sweep.sweepId,
      name: sweep.name,
      provenance: sweep.provenance,
      stored,
      alreadyStored,
      outcomes,
      startedAt: sweep.startedAt,
      datesFrom,
    })),
  };
}

export function importText(imported: readonly ImportedSweep[], storePath: string, look: Look): string[] {
  const stored = imported.reduce((sum, entry) => sum + entry.stored, 0);
  const already = imported.reduce((sum, entry) => sum + entry.alreadyStored, 0);
  const right = 'right' as const;
  const table = renderTable<ImportedSweep>(
    [
      { header: 'sweep', text: ({ sweep }) => sweep.sweepId.slice(0, 8) },
      { header: 'name', text: ({ sweep }) => printable(sweep.name ?? ''), minWidth: 12 },
      { header: 'date', text: ({ sweep }) => (sweep.startedAt ?? '–').slice(0, 16).replace('T', ' ') },
      { header: 'from', text: ({ datesFrom }) => datesFrom.map((source) => DATE_WORDS[source]).join(', ') || '–' },
      { header: 'provenance', text: ({ sweep }) => sweep.provenance, dropRank: 2 },
      { header: 'new', text: (entry) => String(entry.stored), align: right },
      { header: 'there', text: (entry) => String(entry.alreadyStored), align: right, dropRank: 3 },
      { header: 'measured', text: ({ outcomes }) => String(outcomes.measured), align: right },
      { header: 'built', text: ({ outcomes }) => String(outcomes.built), align: right, dropRank: 1 },
      { header: 'unfit', text: ({ outcomes }) => String(outcomes.unfit), align: right, dropRank: 1 },
      { header: 'failed', text: ({ outcomes }) => String(outcomes.failed), align: right },
    ],
    imported,
    look,
  );
  const there = already === 0 ? '' : `, ${already} were there already`;
  return [
    ...table,
    '',
    `${count(stored, 'run')} stored in ${printable(storePath)}${there}`,
    ...dateNotes(imported).flatMap((note) => wrapWords(note, look.columns).map(look.style.dim)),
  ];
}

function dateNotes(imported: readonly ImportedSweep[]): string[] {
  const notes: string[] = [];
  const redated = imported.filter((entry) => entry.redated > 0).length;
  if (redated > 0) notes.push(`date of ${count(redated, 'sweep')} corrected`);
  if (imported.some(({ datesFrom }) => datesFrom.includes('logStamps'))) {
    notes.push('dates from logs: local time of their machine without a zone, taken as UTC');
  }
  const undated = imported.filter(({ sweep }) => sweep.startedAt === null).length;
  if (undated > 0) {
    notes.push(`${count(undated, 'sweep')} without a date, in the order of import: say when with bench import --date`);
  }
  return notes;
}
