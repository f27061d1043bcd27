import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { bench, benchProcess, ROOT, temporaryFolder } from '../../support/bench.ts';
import { change, EVENTS, Mornings } from '../../support/mornings.ts';
import { nightDate, sweepOfNight } from '../../support/simulated-store.ts';
import { dumpTables, queryStore } from '../../support/store-dump.ts';

const kept = (db: string): string[] =>
  queryStore<{ id: string }>(db, 'SELECT sweep_id AS id FROM sweep_values').map(({ id }) => id);

/** What the gate stored, without the time. */
function stored(db: string): unknown {
  const { acknowledgements, findings, finding_cells, judged_sweeps } = dumpTables(db, {
    judged_sweeps: ['judged_at', 'failed_cells', 'row_checksum'],
  });
  return { acknowledgements, findings, finding_cells, judged_sweeps };
}

/** What is said of a store. The first check judges, the second says it again; one comparison is made before it, and one after. */
async function answers(db: string, isJson: boolean): Promise<unknown> {
  const cwd = temporaryFolder();
  const said: unknown[] = [];
  for (const [args, form] of [
    [['compare'], isJson],
    [['check'], isJson],
    [['check'], !isJson],
    [['compare', 'baseline:v1', 'latest'], !isJson],
    [['trend'], isJson],
  ] as const) {
    const { code, stdout, stderr } = await bench([...args, ...(form ? ['--json'] : [])], {
      cwd,
      env: { BENCH_DB: db },
    });
    said.push([...args, code, stdout, stderr]);
  }
  return [said, stored(db)];
}

const morning = fc.record({ sweeps: fc.nat(2), pick: fc.nat(1000), isJson: fc.boolean() });
const stories = fc.tuple(
  fc.shuffledSubarray([...EVENTS], { minLength: EVENTS.length }),
  fc.array(morning, { minLength: EVENTS.length, maxLength: EVENTS.length }),
);

describe('what was read of a sweep is not read again', () => {
  test('whatever happens to the store, the same is said of it', async () => {
    await fc.assert(
      fc.asyncProperty(stories, async ([events, facts]) => {
        const mornings = await Mornings.begin();
        for (const [place, { isJson, pick, sweeps }] of facts.entries()) {
          const [name, happens] = events[place] ?? ['nothing', () => {}];
          for (let sweep = 0; sweep < sweeps; sweep += 1) mornings.sweep();
          await happens(mornings, pick);
          const all = await answers(mornings.forgotten(), isJson);
          expect([name, await answers(mornings.db, isJson)]).toEqual([name, all]);
        }
        expect(kept(mornings.db).length).toBeGreaterThan(12);
      }),
      { seed: 99, numRuns: 2, endOnFailure: true },
    );
  }, 120_000);

  test('only of the sweep whose runs came, changed or went', async () => {
    const { db } = await Mornings.begin();
    await bench(['check', '--db', db]);
    const before = kept(db);
    expect(before).toHaveLength(9);
    for (const statement of [
      `UPDATE runs SET outcome = 'failed' WHERE rowid = (SELECT min(rowid) FROM runs)`,
      'DELETE FROM runs WHERE rowid = (SELECT min(rowid) FROM runs)',
    ]) {
      change(db, statement);
      expect(kept(db)).toEqual(before.filter((id) => id !== sweepOfNight(0)));
      await bench(['check', '--db', db]);
      expect(kept(db)).toHaveLength(before.length);
    }
  });

  test('SIGKILL before any write of a check: the next one says and stores the same', async () => {
    const { folder } = await Mornings.begin();
    const findingsOf = (of: string): unknown => {
      const artefacts = join(dirname(of), 'artefacts');
      return readdirSync(artefacts)
        .toSorted()
        .map((name) => join(artefacts, name, 'findings.json'))
        .map((path) => existsSync(path) && readFileSync(path, 'utf8').replaceAll(/"judgedAt": "[^"]*"/g, ''));
    };
    const ofAll = async (of: string): Promise<unknown> => [
      (await bench(['check', '--db', of])).stdout,
      stored(of),
      kept(of),
      findingsOf(of),
    ];
    const copy = (): string => {
      const to = temporaryFolder();
      cpSync(folder, to, { recursive: true });
      return join(to, 'bench.sqlite');
    };
    const whole = await ofAll(copy());
    const NODE_OPTIONS = `--import=${pathToFileURL(join(ROOT, 'test', 'support', 'dies-at-write.mjs')).href}`;
    let kills = 0;
    for (let signal: string | null = 'SIGKILL'; signal === 'SIGKILL'; kills += 1) {
      const cut = copy();
      const env = { NODE_OPTIONS, DIES_AT_WRITE: `${kills + 1}` };
      signal = (await benchProcess(['check', '--db', cut], { env })).signal;
      expect([kills, await ofAll(cut)]).toEqual([kills, whole]);
    }
    expect(kills).toBeGreaterThan(9);
  });

  test('a question about the past, or with another limit, keeps nothing', async () => {
    const { db } = await Mornings.begin();
    for (const args of [
      ['--as-of', nightDate(8)],
      ['--min-change', '3'],
    ]) {
      await bench(['check', ...args, '--db', db], { cwd: temporaryFolder() });
    }
    expect(kept(db)).toEqual([]);
  });
});
