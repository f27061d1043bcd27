import * as z from 'zod';

import { writeFindings } from '../../artefacts/findings-file.ts';
import { artefactsFolderOf } from '../../artefacts/layout.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import type { Acknowledgement, Finding } from '../../records/gate-finding.ts';
import { printable } from '../../text/printable.ts';
import { readInstant } from '../../text/utc-instant.ts';
import { resolveRevision } from '../../tools/git/git.ts';
import { acknowledge, deleteAcknowledgements, findFindingsByPrefix } from '../../store/sweeps/findings.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStoreToWrite } from '../../cli/with-store.ts';
import type { AckOptions } from './command.ts';
import { id, instant, output, type OutputOf } from '../../records/output-parts.ts';

export async function ack(name: string, options: AckOptions, io: Io): Promise<ExitCode> {
  return withStoreToWrite(options, io, async (store) => {
    const finding = oneFinding(store.db, name);
    const short = finding.findingId.slice(0, 8);
    if (options.undo === true) {
      if (deleteAcknowledgements(store.db, [finding.findingId]) === 0) {
        throw new UsageError(`finding ${short} was not accepted`);
      }
      await writeFindings(store.db, artefactsFolderOf(store.path), [finding.reportedSweepId]);
      io.out(`finding ${short} is no longer accepted\n`);
      return EXIT_CODES.fine;
    }
    if (options.reason === undefined) {
      throw new UsageError('why may it stay? --reason "…" is read by whoever looks next');
    }
    const row: Acknowledgement = {
      findingId: finding.findingId,
      reason: options.reason,
      until: await untilOf(options.until, io),
      owner: null,
      createdAt: io.now().toISOString(),
    };
    acknowledge(store.db, row);
    await writeFindings(store.db, artefactsFolderOf(store.path), [finding.reportedSweepId]);
    const { until } = row;
    const term = until === null ? 'for good' : `until ${until.length === 40 ? until.slice(0, 8) : until}`;
    printResult<AckOutput>(io, options, { schemaVersion: 1, ...row }, () => [
      `finding ${short} is accepted ${term}; it comes back if it gets worse`,
    ]);
    return EXIT_CODES.fine;
  });
}

function oneFinding(db: StoreDatabase, name: string): Finding {
  const [finding, ...more] = findFindingsByPrefix(db, name);
  if (finding === undefined) {
    throw new UsageError(`${printable(name)}: no such finding; \`bench check\` names them`);
  }
  if (more.length > 0) throw new UsageError(`${printable(name)} is the start of several findings`);
  return finding;
}

/** A date stays a date; a revision becomes its commit. */
async function untilOf(until: string | undefined, io: Io): Promise<string | null> {
  if (until === undefined) return null;
  if (/^\d{4}-\d\d-\d\d$/.test(until)) {
    if (readInstant(until) === null) throw new UsageError(`--until ${until}: no such day`);
    const today = io.now().toISOString().slice(0, 10);
    if (until < today) {
      throw new UsageError(`--until ${until}: that day is over; today is ${today} (UTC)`);
    }
    return until;
  }
  const commit = await resolveRevision(io.cwd, until);
  if (commit === null) {
    throw new UsageError(`--until ${printable(until)}: neither a date (2026-12-31) nor a commit here`);
  }
  return commit;
}

export const ackOutput = output('bench ack --json', {
  findingId: id,
  reason: z.string(),
  until: z.string().nullable(),
  owner: z.string().nullable(),
  createdAt: instant,
});

type AckOutput = OutputOf<typeof ackOutput>;
