import * as z from 'zod';

import { writeFindings } from '../../artefacts/sweep-notes.ts';
import { artefactsFolderOf } from '../../files/layout.ts';
import { ensure, UsageError, type ExitCode } from '../../errors.ts';
import { acknowledgementSchema, type Finding, termText } from '../../records/finding.ts';
import { count } from '../../terminal/numbers.ts';
import { printable, shortList } from '../../text/printable.ts';
import { readInstant } from '../../text/utc-instant.ts';
import { contains, resolveRevision } from '../../tools/git/git.ts';
import { seriesOf, sweepsById } from '../../store/sweeps/find-sweeps.ts';
import {
  acknowledge,
  acknowledgementsOf,
  deleteAcknowledgements,
  lastingFindings,
} from '../../store/sweeps/findings.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStoreToWrite } from '../../cli/with-store.ts';
import { findingByPrefix } from '../../selection/by-name.ts';
import type { AckOptions } from './command.ts';
import { output, type OutputOf } from '../../records/output-parts.ts';

export async function ack(names: readonly string[], options: AckOptions, io: Io): Promise<ExitCode> {
  refuseOptions(names, options);
  return withStoreToWrite(options, io, async (store) => {
    const findings = chosenFindings(store.db, names, options);
    const reported = findings.map(({ reportedSweepId }) => reportedSweepId);
    const said = options.undo === true ? takeBack(store.db, findings) : await mark(store.db, findings, options, io);
    await writeFindings(store.db, artefactsFolderOf(store.path), reported);
    return printResult<AckOutput>(io, options, { schemaVersion: 1, acknowledged: [...said.rows] }, () => [said.line]);
  });
}

function refuseOptions(
  names: readonly string[],
  { all, branch, matrix, owner, reason, undo, until }: AckOptions,
): void {
  const isAll = all === true;
  ensure(!isAll || names.length === 0, '--all and names of findings cannot be used together');
  ensure(isAll || names.length > 0, 'which finding? Write its id, as `bench check` prints it, or --all');
  const isOne = branch === undefined && matrix === undefined;
  ensure(isAll || isOne, '--matrix and --branch need --all: an id names one finding');
  const isBare = [owner, reason, until].every((value) => value === undefined);
  const whole = '--undo reverts the whole acknowledgement: leave out --reason, --until and --owner';
  ensure(undo !== true || isBare, whole);
  ensure(undo === true || reason !== undefined, 'add --reason "…", which explains the acknowledgement');
}

function chosenFindings(db: StoreDatabase, names: readonly string[], options: AckOptions): readonly Finding[] {
  const { all, branch, matrix, undo } = options;
  if (all !== true) {
    const chosen = names.flatMap((name) => findingsNamed(db, name));
    return [...new Map(chosen.map((finding) => [finding.findingId, finding])).values()];
  }
  const lasting = lastingFindings(db).filter(
    (finding) =>
      (branch === undefined || finding.branch === branch) && (matrix === undefined || finding.matrix === matrix),
  );
  const ids = lasting.map(({ findingId }) => findingId);
  const marked = acknowledgementsOf(db, ids);
  const chosen = lasting.filter(({ findingId }) => marked.has(findingId) === (undo === true));
  ensure(chosen.length > 0, undo === true ? 'no finding is acknowledged' : 'there is no finding to acknowledge');
  return chosen;
}

/** A finding by the start of its ID, or all findings of a group by a word of it, such as `fp8`. */
function findingsNamed(db: StoreDatabase, name: string): readonly Finding[] {
  const finding = findingByPrefix(db, name);
  if (finding !== null) return [finding];
  const lasting = lastingFindings(db);
  const ofGroup = lasting.filter(({ group }) => group.includes(name));
  if (ofGroup.length > 0) return ofGroup;
  throw new UsageError(`${printable(name)}: finding not found; see \`bench ls findings\``);
}

/** Like `mark`, it gives the rows that were written, here none, and a line about them. */
function takeBack(db: StoreDatabase, findings: readonly Finding[]) {
  const ids = findings.map(({ findingId }) => findingId);
  ensure(deleteAcknowledgements(db, ids) > 0, `${namesOf(findings)} is not acknowledged`);
  return { rows: [], line: `${namesOf(findings)} ${areOrIs(findings)} no longer acknowledged` };
}

async function mark(db: StoreDatabase, findings: readonly Finding[], options: AckOptions, io: Io) {
  const { owner = null, reason = '' } = options;
  const until = await untilOf(db, findings, options.until, io);
  const createdAt = io.now().toISOString();
  const rows = findings.map(({ findingId }) => ({ findingId, reason, until, owner, createdAt }));
  acknowledge(db, rows);
  const term = until === null ? 'permanently' : termText(until);
  const line = `${namesOf(findings)} ${areOrIs(findings)} acknowledged ${term}: ${printable(reason)}; --undo reverts this`;
  return { rows, line };
}

const NAMED = 6;

function namesOf(findings: readonly Finding[]): string {
  const ids = findings.map(({ findingId }) => findingId.slice(0, 8));
  if (ids.length === 1) return `finding ${ids.join('')}`;
  return `${count(ids.length, 'finding')} (${shortList(ids, NAMED, ', ', ', and ')})`;
}

function areOrIs({ length }: readonly Finding[]): string {
  return length === 1 ? 'is' : 'are';
}

/** A date stays a date, and a revision becomes its commit, which no sweep of the findings' series may contain yet. */
async function untilOf(db: StoreDatabase, findings: readonly Finding[], until: string | undefined, io: Io) {
  if (until === undefined) return null;
  if (/^\d{4}-\d\d-\d\d$/.test(until) && readInstant(until) !== null) {
    const today = io.now().toISOString().slice(0, 10);
    ensure(until >= today, `--until ${until}: this day is past; today is ${today} (UTC)`);
    return until;
  }
  const commit = await resolveRevision(io.cwd, until);
  ensure(commit !== null, `--until ${printable(until)}: neither a date (2026-12-31) nor a commit here`);
  const reported = sweepsById(db, [...new Set(findings.map(({ reportedSweepId }) => reportedSweepId))]);
  for (const { commit: measured, sweepId } of reported.flatMap((sweep) => seriesOf(db, sweep, 1))) {
    const isOver = measured !== null && (await contains(io.cwd, measured, commit));
    const why = `sweep ${sweepId.slice(0, 8)} has measured it; name a later commit, or a date`;
    ensure(!isOver, `--until ${printable(until)} (${commit.slice(0, 8)}): ${why}`);
  }
  return commit;
}

export const ackOutput = output('bench ack --json', {
  acknowledged: z
    .array(z.strictObject(acknowledgementSchema.shape))
    .describe('Findings that are now acknowledged; none with --undo'),
});

type AckOutput = OutputOf<typeof ackOutput>;
