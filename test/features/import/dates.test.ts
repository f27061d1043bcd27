import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { bench, temporaryFolder, temporaryStore } from '../../support/bench.ts';
import { readFixture } from '../../support/recordings.ts';
import { queryStore } from '../../support/store-dump.ts';
import { OUTPUTS, jsonOf } from '../../support/outputs.ts';

const PAIRS = 'level0/pairs/vit_small.fp16.b8.graph1';
const VIT = ['--model', 'vit_small', '--precision', 'fp16'];
const NUMBER = ['--metric', 'e2e_ms', '--shapes', 'input:8x3x224x224', ...VIT];

/** A recorded log as plain text: normal, or of an engine that is 3.2 times as slow, with the date of its lines. */
function logOf(kind: 'normal' | 'level0', number: number, stamp: string | null): string {
  const text = readFixture(`${PAIRS}/0${number}-${kind}/stdout.log.br`).toString();
  return stamp === null ? text : text.replaceAll(/\[11\/21\/2026-/g, `[${stamp}-`);
}

const BETWEEN_SWEEPS = Array.from({ length: 12 }, (_, index) => ({
  name: `night${String(index + 1).padStart(2, '0')}`,
  kind: index < 9 ? ('normal' as const) : ('level0' as const),
  number: (index % 3) + 1,
  stamp: `10/${String(index + 1).padStart(2, '0')}/2026`,
}));

function writeNights(folder: string, textOf: (night: (typeof BETWEEN_SWEEPS)[number]) => string): string[] {
  return BETWEEN_SWEEPS.map((night) => {
    mkdirSync(join(folder, night.name), { recursive: true });
    writeFileSync(join(folder, night.name, 'run.log'), textOf(night));
    return join(folder, night.name);
  });
}

/** What each command that has an order of sweeps takes for it. */
async function ordersIn(db: string, metric: string) {
  const stored = queryStore<{ id: string; name: string }>(db, 'SELECT sweep_id AS id, name FROM sweeps');
  const named = (id: string | undefined) => stored.find((sweep) => sweep.id === id)?.name.slice(-7);
  const read = async (...args: string[]) => {
    const { code, stdout } = await bench([...args, '--json', '--db', db]);
    return { code, json: JSON.parse(stdout) };
  };
  const night25 = stored.find(({ name }) => name.endsWith('night09'))?.name ?? '';
  const check = await read('check', '--metric', metric);
  const [{ sweepId, startedAt, notes }] = check.json.series;
  const asOf = await read('check', '--as-of', night25, '--metric', metric);
  const { sweeps }: { sweeps: { sweepId: string }[] } = (await read('ls', 'sweeps', '--last', '40')).json;
  const { stdout: compared } = await bench(['compare', '--metric', metric, '--db', db]);
  const trend = await read('trend', '--by', 'sweep', '--metric', metric, '--last', '40');
  return {
    code: check.code,
    startedAt,
    notes,
    check: named(sweepId),
    firstBad: named(check.json.findings[0]?.firstBad?.sweepId),
    asOf: named(asOf.json.series[0]?.sweepId),
    compared: [...compared.matchAll(/· \S*(night\d\d)/g)].map(([, name]) => name),
    sweeps: sweeps.map((sweep) => named(sweep.sweepId)).toReversed(),
    trend: trend.json.cells[0]?.points.map((point: { sweepId: string }) => named(point.sweepId)),
  };
}

const NAMES = BETWEEN_SWEEPS.map(({ name }) => name);
const IN_ORDER = { code: 1, check: 'night12', firstBad: 'night10', asOf: 'night09', sweeps: NAMES, trend: NAMES };

describe('the date of an imported log without run.json', () => {
  test('is that of its lines: a step of +216 % on night 10 of 12 is found, whatever the order of import', async () => {
    const { folder, db } = temporaryStore();
    const paths = writeNights(folder, ({ kind, number, stamp }) => logOf(kind, number, stamp));
    const scrambled = paths.toSorted((a, b) => (a.at(-1) ?? '').localeCompare(b.at(-1) ?? ''));
    await bench(['import', ...scrambled, ...VIT, '--db', db]);
    const dated = { startedAt: '2026-10-12T07:47:27.000Z', notes: [], compared: ['night11', 'night12'] };
    expect(await ordersIn(db, 'gpuComputeMs')).toEqual({ ...IN_ORDER, ...dated });
  });

  test('without any, the order of import counts, and check and compare say so', async () => {
    const { folder, db } = temporaryStore();
    const paths = writeNights(folder, ({ kind, number }) => {
      return `${/GPU Compute Time: .*median = ([\d.]+)/.exec(logOf(kind, number, null))?.[1]}\n`;
    });
    await bench(['import', ...paths, ...NUMBER, '--db', db]);
    const order = 'have no date: their order is that of their import';
    const note = `12 of 12 sweeps ${order}; bench import --date says when they were made`;
    const undated = { startedAt: null, notes: [note], compared: ['night11', 'night12'] };
    expect(await ordersIn(db, 'e2e_ms:lower:ms')).toEqual({ ...IN_ORDER, ...undated });
    const compared = await bench(['compare', '--db', db]);
    expect(compared.stdout.replaceAll(/\s+/g, ' ')).toContain(`12 of 12 sweeps ${order.slice(0, 40)}`);
  });

  test('equal stamps are kept in the order of import, also when the store is rebuilt from artefacts', async () => {
    const { folder, db } = temporaryStore();
    const folders = ['c', 'a', 'b'];
    for (const [index, name] of folders.entries()) {
      mkdirSync(join(folder, name));
      const log = logOf('normal', index + 1, null);
      const stamped = log.replaceAll(/\[11\/21\/2026-\d\d:\d\d:\d\d\]/g, '[11/21/2026-07:50:24]');
      writeFileSync(join(folder, name, 'run.log'), stamped);
      expect((await bench(['import', join(folder, name), '--sweep', name, ...VIT, '--db', db])).code).toBe(0);
    }
    const again = join(folder, 'again.sqlite');
    await bench(['import', join(folder, 'artefacts'), '--db', again]);
    const sweeps = folders.toReversed().map((name) => ({ name, startedAt: '2026-11-21T07:50:24.000Z' }));
    for (const store of [db, again]) {
      expect(await jsonOf(OUTPUTS.sweeps, ['ls', 'sweeps', '--db', store])).toMatchObject({ sweeps });
    }
  });
});

describe('bench import --date', () => {
  const taking = (folder: string, ...args: string[]) =>
    bench(['import', join(folder, 'run.log'), ...args, '--db', join(folder, 'bench.sqlite')]);
  const startIn = (folder: string, name = 'bench.sqlite') =>
    queryStore<{ start: string; run: string }>(
      join(folder, name),
      `SELECT s.started_at AS start, r.started_at AS run FROM sweeps s JOIN runs r USING (sweep_id)`,
    );

  test('goes before the stamps of the lines, can be said later, and survives a rebuild', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'run.log'), logOf('normal', 1, null));
    await taking(folder);
    const stamped = '2026-11-21T07:47:04.000Z';
    expect(startIn(folder)).toEqual([{ start: stamped, run: stamped }]);
    const dated = await taking(folder, '--date', '2026-03-01T02:30+01:00', '--json');
    const start = '2026-03-01T01:30:00.000Z';
    const sweeps = [{ stored: 0, alreadyStored: 1, startedAt: start, datesFrom: ['option'] }];
    expect(JSON.parse(dated.stdout)).toMatchObject({ sweeps });
    await taking(folder);
    expect(startIn(folder)).toEqual([{ start, run: start }]);
    await bench(['import', join(folder, 'artefacts'), '--db', join(folder, 'again.sqlite')]);
    expect(startIn(folder, 'again.sqlite')).toEqual([{ start, run: start }]);
  });

  test.each([
    ['2026-02-30', 'is not a date: write 2026-03-01 or 2026-03-01T02:30'],

    ['yesterday', 'is not a date'],

    ['2999-01-01', '--date 2999-01-01: this date is in the future'],
  ])('refuses %s', async (date, words) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'run.log'), logOf('normal', 1, null));
    const { code, stderr } = await taking(folder, '--date', date);
    expect([code, stderr.split('\n').length, stderr]).toEqual([2, 2, expect.stringContaining(words)]);
    expect(stderr).not.toContain(`"${date}"`);
  });

  test('does not count where run.json says the time', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'stdout.log'), logOf('normal', 1, null));
    const started = '2026-11-21T07:47:04.500000+00:00';
    writeFileSync(join(folder, 'run.json'), JSON.stringify({ argv: ['trtexec'], started }));
    const args = ['import', folder, '--date', '2026-03-01', '--db', join(folder, 'bench.sqlite'), '--json'];
    const { stdout, stderr } = await bench(args);
    expect(stderr).toBe('');
    const sweeps = [{ startedAt: '2026-11-21T07:47:04.500Z', datesFrom: ['runJson'] }];
    expect(JSON.parse(stdout)).toMatchObject({ sweeps });
  });
});
