import { join } from 'node:path';

import { z } from 'zod';

import { LogFacts } from '../check-recordings/log-facts.ts';
import { compareStored, StoreReader } from '../check-recordings/stored-run.ts';
import { filesOf, readLines } from '../check-recordings/text.ts';
import type { Visit } from './visit.ts';

/** Every stored number of every run is that of its kept log, by a reader that shares no code with the parser of bench. */
export async function checkLogs(visit: Visit): Promise<void> {
  const runs = visit.rows(
    z.object({ id: z.string(), folder: z.string() }),
    `SELECT run_id AS id, artefact_folder AS folder FROM runs
       WHERE outcome = 'measured' AND role <> 'build' AND artefact_folder IS NOT NULL`,
  );
  const store = new StoreReader(visit.store);
  const found: string[] = [];
  let values = 0;
  for (const { folder, id } of runs) {
    const files = await filesOf({ kind: 'folder', path: join(visit.place.folder, 'artefacts', folder) });
    const text = new LogFacts(new Set());
    await readLines(files.get('stdout.log') ?? '', (line, number) => text.take('stdout', line, number));
    const [stored, said] = [store.run(id), text.finish()[0]];
    if (stored === null || said === undefined) throw new Error(`${folder}: no stored run, or no log`);
    const { differences, numbers } = compareStored(stored, said.finish());
    values += numbers + differences.length;
    found.push(...differences.map(({ what }) => `${id.slice(0, 8)} ${what}`));
  }
  store.close();
  visit.check(
    'every stored number is that of its log',
    runs.length > 0 && found.length === 0,
    [`${runs.length} runs, ${values} values, ${found.length} differences`, ...found.slice(0, 3)].join('; '),
  );
}
