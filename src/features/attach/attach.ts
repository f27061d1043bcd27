import { basename, resolve } from 'node:path';

import { artefactsFolderOf } from '../../artefacts/layout.ts';
import type { Attachment } from '../../artefacts/attachment.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { jsonText } from '../../text/printable.ts';
import { attachFile } from '../../artefacts/attach-files.ts';
import { attachJson, attachText } from './text.ts';
import { type Io, printLines } from '../../cli/io.ts';
import { namedRun } from '../../selection/named-run.ts';
import { withStoreToWrite } from '../../cli/with-store.ts';

export interface AttachOptions {
  readonly json?: boolean;
  readonly db?: string;
  readonly name?: string;
}

/** `bench attach RUN FILE...`: keeps files beside a run, by their hash. */
export async function attach(run: string, files: readonly string[], options: AttachOptions, io: Io): Promise<ExitCode> {
  if (options.name !== undefined && files.length > 1) {
    throw new UsageError('--name is the name of one file: attach them one by one');
  }
  return withStoreToWrite(options, io, async ({ db, path }) => {
    const runId = namedRun(db, run);
    const context = { db, artefactsFolder: artefactsFolderOf(path), now: io.now };
    const attached: Attachment[] = [];
    for (const file of files) {
      io.signal.throwIfAborted();
      const name = options.name ?? basename(file);
      attached.push(await attachFile(context, runId, resolve(io.cwd, file), name));
    }
    const report = { runId, attached };
    if (options.json === true) io.out(`${jsonText(attachJson(report))}\n`);
    else printLines(io, attachText(report));
    return EXIT_CODES.fine;
  });
}
