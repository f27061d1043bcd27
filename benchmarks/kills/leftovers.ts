import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { queryStore } from '../../test/support/store-dump.ts';

/** What lies beside a store and belongs to no finished run, and what should lie there and does not. */
export function leftoversOf(db: string, sweepId: string): string[] {
  const runs = queryStore<{ id: string }>(db, 'SELECT run_id AS id FROM runs').map(({ id }) => id);
  const names = readdirSync(join(dirname(db), 'artefacts', sweepId));
  const known = new Set([...runs, 'sweep.json']);
  return [
    ...names.filter((name) => !known.has(name)).map((name) => `artefacts: ${name} is left over`),
    ...runs.filter((id) => !names.includes(id)).map((id) => `artefacts: run ${id} has no folder`),
    ...halfEngines(join(dirname(db), 'engines')),
  ];
}

/** Of an engine cache only what is whole may be there: an engine whose bytes are those of its note. */
export function halfEngines(folder: string): string[] {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.flatMap((name) => {
    // When an engine was used last, and timing caches: one that is not as its note says is not used.
    if (name === '.gitignore' || /^timing-[0-9a-f]+\.(cache|json)$|^[0-9a-f]+\.cache(\.json)?$|\.used$/.test(name))
      return [];
    const [, key, kind] = /^([0-9a-f]+)\.(plan|json)$/.exec(name) ?? [];
    if (key === undefined) return [`engines: ${name} is left over`];
    const other = `${key}.${kind === 'plan' ? 'json' : 'plan'}`;
    if (!names.includes(other)) return [`engines: ${name} has no ${other}`];
    if (kind === 'json') return [];
    const sha256 = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
    const isWhole = readFileSync(join(folder, other), 'utf8').includes(sha256);
    return isWhole ? [] : [`engines: ${name} is not what was built`];
  });
}

/** Processes that the sweep has started, by the variable that they carry: see `marked-processes.ts`. */
export function processesOf(sweepId: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const environ = readFileSync(join('/proc', name, 'environ'), 'latin1');
      return environ.includes(`BENCH_ATTEMPT=${sweepId}/`) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}
