import { toolVersion } from '../../cli/store-location.ts';
import type { Io } from '../../cli/io.ts';
import { artefactsFolderOf } from '../../artefacts/layout.ts';
import { NOTHING_STATED } from '../../artefacts/read/read-standalone.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { RunWriter } from '../../store/runs/save-run.ts';
import { printable } from '../../text/printable.ts';
import { GroupImport, type ImportedSweep } from './import-group.ts';

export { restoreArtefacts } from './import.ts';

/** `bench import` of run folders that state their sweep. */
export function importRunFolders(folders: readonly string[], store: OpenStore, io: Io): Promise<ImportedSweep[]> {
  const context = {
    db: store.db,
    writer: new RunWriter(store.db),
    artefactsFolder: artefactsFolderOf(store.path),
    toolVersion: toolVersion(),
    git: null,
    now: io.now,
    date: null,
    keeps: true,
    standalone: NOTHING_STATED,
    note: null,
    into: null,
    onNote: (text: string) => io.err(`note: ${printable(text)}\n`),
    signal: io.signal,
  };
  const sources = folders.map((path) => ({ source: { kind: 'folder' as const, path }, sweepName: '' }));
  return new GroupImport(context, '').import(sources);
}
