import { TRTEXEC } from '../../src/artefacts/read/recognise.ts';
import { importRuns } from '../../src/features/import/import.ts';
import { isRecord } from '../../src/text/unknown-values.ts';
import { makeLook } from '../../src/terminal/look.ts';

export interface ImportCounts {
  readonly stored: number;
  readonly alreadyStored: number;
}

/** `bench import FOLDER --db STORE --json`, in this process. @throws what the command throws */
export async function importFolder(folder: string, store: string): Promise<ImportCounts> {
  let text = '';
  const look = makeLook(100, false);
  await importRuns(
    [folder],
    { db: store, json: true, as: TRTEXEC },
    {
      cwd: process.cwd(),
      env: {},
      now: () => new Date(),
      out: (part) => (text += part),
      err: () => {},
      stdin: (async function* () {})(),
      isInteractive: false,
      spawn: () => Promise.reject(new Error('nothing is to be started here')),
      look,
      errLook: look,
      signal: new AbortController().signal,
    },
  );
  const result: unknown = JSON.parse(text);
  const sweeps: unknown = isRecord(result) ? result['sweeps'] : null;
  const counts = Array.isArray(sweeps) ? sweeps.filter(isRecord) : [];
  const sum = (key: string): number => counts.reduce((all, sweep) => all + Number(sweep[key]), 0);
  return { stored: sum('stored'), alreadyStored: sum('alreadyStored') };
}
