import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { expect, test } from 'vitest';

import { bench, benchProcess, ROOT, temporaryFolder } from '../../support/bench.ts';
import { simulatedCells, simulateNights, sweepOfNight } from '../../support/simulated-store.ts';
import { dumpTables } from '../../support/store-dump.ts';

/** What the gate stored, without the time. */
function stored(db: string): unknown {
  const { acknowledgements, findings, finding_cells, judged_sweeps } = dumpTables(db, { judged_sweeps: ['judged_at'] });
  return { acknowledgements, findings, finding_cells, judged_sweeps };
}

function findingsOf(db: string): unknown {
  const artefacts = join(dirname(db), 'artefacts');
  return readdirSync(artefacts)
    .toSorted()
    .map((name) => join(artefacts, name, 'findings.json'))
    .map((path) => existsSync(path) && readFileSync(path, 'utf8').replaceAll(/"judgedAt": "[^"]*"/g, ''));
}

test('SIGKILL before any write of a check: the next one says and stores the same', async () => {
  const folder = temporaryFolder();
  simulateNights(join(folder, 'bench.sqlite'), {
    cells: simulatedCells(4),
    nights: 5,
    repeats: 2,
    value: (cell, night, repeat) => (1 + cell) * (night < 4 ? 1 : 1.08) * (1 + 0.001 * ((night * 7 + repeat) % 5)),
  });
  for (let night = 0; night < 5; night += 1) {
    mkdirSync(join(folder, 'artefacts', sweepOfNight(night)), { recursive: true });
  }
  const ofAll = async (of: string): Promise<unknown> => [
    (await bench(['check', '--db', of])).stdout,
    stored(of),
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
  expect(kills).toBeGreaterThan(2);
}, 120_000);
