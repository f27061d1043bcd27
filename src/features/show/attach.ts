import { basename, resolve } from 'node:path';

import { artefactsFolderOf, attachment } from '../../files/layout.ts';
import { UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { attachFile } from '../../artefacts/attached.ts';
import { printable } from '../../text/printable.ts';
import { formatBytes } from '../../terminal/numbers.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { namedRun } from '../../selection/by-name.ts';
import { withStoreToWrite } from '../../cli/with-store.ts';
import * as z from 'zod';
import { id, output, type OutputOf } from '../../records/output-parts.ts';
import type { ShowOptions } from './command.ts';

/** `bench show RUN --attach FILE...`: attaches files to a run, by their hash. */
export async function attach(run: string, files: readonly string[], options: ShowOptions, io: Io): Promise<ExitCode> {
  if (options.name !== undefined && files.length > 1) {
    throw new UsageError('--name is the name of one file: attach them one by one');
  }
  return withStoreToWrite(options, io, async ({ db, path }) => {
    const runId = namedRun(db, run);
    const context = { db, artefactsFolder: artefactsFolderOf(path), now: io.now };
    const attached: AttachOutput['attached'][number][] = [];
    for (const file of files) {
      io.signal.throwIfAborted();
      const name = options.name ?? basename(file);
      const { kind, sha256, bytes, attachedAt } = await attachFile(context, runId, resolve(io.cwd, file), name);
      attached.push({ name, kind, sha256, bytes, attachedAt });
    }
    return printResult<AttachOutput>(io, options, { schemaVersion: 1, runId, attached }, attachText);
  });
}

function attachText({ runId, attached }: AttachOutput): string[] {
  return attached.map(
    ({ name, bytes, sha256 }) =>
      `run ${runId.slice(0, 8)} has ${printable(name)} (${formatBytes(bytes)}, sha256 ${sha256.slice(0, 12)})`,
  );
}

export const attachOutput = output('bench show RUN --attach FILE --json', {
  runId: id,
  attached: z.array(attachment.omit({ runId: true, prunedAt: true })),
});

type AttachOutput = OutputOf<typeof attachOutput>;
