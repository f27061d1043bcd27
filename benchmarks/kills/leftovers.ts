import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { queryStore } from '../../test/support/store-dump.ts';
import { processFiles } from '../processes.ts';

/** What lies beside a store and belongs to no finished run, and what should lie there and does not. */
export function leftoversOf(db: string, sweepId: string): string[] {
  const runs = queryStore<{ id: string }>(db, 'SELECT run_id AS id FROM runs').map(({ id }) => id);
  const names = readdirSync(join(dirname(db), 'artefacts', sweepId));
  const known = new Set([...runs, 'sweep.json', '.lock']);
  return [
    ...names.filter((name) => !known.has(name)).map((name) => `artefacts: ${name} is left over`),
    ...runs.filter((id) => !names.includes(id)).map((id) => `artefacts: run ${id} has no folder`),
    ...halfEngines(join(dirname(db), 'engines')),
  ];
}

/** Of an engine cache only what is whole may be there: engines that the index names, with the bytes of their names. */
export function halfEngines(folder: string): string[] {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const index = names.includes('index.json') ? readFileSync(join(folder, 'index.json'), 'utf8') : '';
  return names.flatMap((name) => {
    // When an engine was used last, and timing caches: one that is not as its note says is not used.
    if (/^\.gitignore$|^index\.json$|^timing-[0-9a-f]+\.(cache|json)$|\.cache(\.json)?$|\.used$|\.lock$/.test(name))
      return [];
    const sha256 = /^([0-9a-f]{64})\.plan$/.exec(name)?.[1];
    if (sha256 === undefined) return [`engines: ${name} is left over`];
    if (!index.includes(sha256)) return [`engines: ${name} is not in the index`];
    const bytes = readFileSync(join(folder, name));
    const isWhole = createHash('sha256').update(bytes).digest('hex') === sha256;
    return isWhole ? [] : [`engines: ${name} is not what was built`];
  });
}

/** Processes that the sweep has started, by the variable that they carry: see `marked-processes.ts`. */
export function processesOf(sweepId: string): number[] {
  return processFiles('environ').flatMap(({ pid, text }) => (text.includes(`BENCH_ATTEMPT=${sweepId}/`) ? [pid] : []));
}
