import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, sharedFolder, temporaryFolder, temporaryStore, refusal } from '../../support/bench.ts';
import { queryStore, firstId } from '../../support/store-dump.ts';

const VIT = ['--model', 'vit', '--precision', 'fp16', '--shapes', 'input:8x3x224x224'];

const VALUES = `SELECT metric, value, harness ->> 'timer' AS timer FROM run_values JOIN runs USING (run_id)
  JOIN cells USING (cell_key) ORDER BY value`;

describe('numbers of an application beside those of trtexec', () => {
  let folder = '';
  let db = '';
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const take = (...args: string[]) => bench(['import', ...args, '--db', db]);
  beforeAll(async () => {
    folder = sharedFolder();
    db = join(folder, 'bench.sqlite');
    const night = ['--sweep', 'app', ...VIT];
    const lines = file('lines.txt', 'e2e_ms\n# a comment\n12.3\n11.9, \n12.1 # the middle one\n');
    await take(lines, ...night, '--metric', 'e2e_ms', '--note', ' pre- and\n post-processing in it');
  });

  test('one a line, the median counts, and the note stands with the run', async () => {
    expect(queryStore(db, VALUES)).toEqual([{ metric: 'e2e_ms:lower:ms', value: 12.1, timer: 'unknown' }]);
    const id = firstId(db, 'SELECT run_id AS id FROM runs');
    const { stdout } = await bench(['show', id, '--db', db]);
    expect(stdout).toContain('pre- and post-processing in it');
    expect(stdout).toContain('e2e_ms');
    const line = /^(?:> |.*<\/h1><p class="about">)?note of the import: pre- and post-processing in it/m;
    for (const args of [
      ['show', 'app'],
      ['report', '--md'],
      ['report', '--html', '-'],
    ]) {
      expect((await bench([...args, '--db', db])).stdout).toMatch(line);
    }
  });

  test('the field of that name, of one object and of JSON lines; another timer is another cell', async () => {
    const one = file('one.json', '{"e2e_ms": 20.5,\n "other": 1}');
    const lines = file('lines.jsonl', '{"e2e_ms": 30}\n{"e2e_ms": 32}\n{"e2e_ms": 31}\n');
    const said = ['--metric', 'e2e_ms:lower:ms', '--into', 'app', ...VIT];
    expect([(await take(one, ...said)).code, (await take(lines, ...said, '--timer', 'wall')).code]).toEqual([0, 0]);
    const values = [12.1, 20.5].map((value) => ({ value, timer: 'unknown' }));
    expect(queryStore(db, VALUES)).toMatchObject([...values, { value: 31, timer: 'wall' }]);
    const { stdout } = await bench(['show', 'app', '--db', db], { env: { COLUMNS: '120' } });
    expect(stdout).toMatch(/by command +e2e_ms +16\.30 ms/);
    expect(stdout).toMatch(/by command\/wall +e2e_ms +31\.00 ms/);
  });

  test.each<[name: string, text: string, args: string[], problem: RegExp]>([
    ['words.txt', '1.5\nfast\n', ['--metric', 'e2e_ms'], /words\.txt: line 2: e2e_ms is not a number above 0: "fast"$/],
    ['late.txt', '1.5\ne2e_ms\n', ['--metric', 'e2e_ms'], /line 2: e2e_ms is not a number above 0: "e2e_ms"$/],
    ['below.txt', '1.5\n-1\n2.5\n', ['--metric', 'e2e_ms'], /line 2: e2e_ms is not a number above 0: "-1"$/],
    ['empty.txt', '# nothing\n', ['--metric', 'e2e_ms'], /empty\.txt: it contains no number$/],
    ['cut.jsonl', '{"e2e_ms": 1}\n{"e2e', ['--metric', 'e2e_ms'], /line 2 is not a JSON object$/],
    ['other.json', '{"latency": 1}', ['--metric', 'e2e_ms'], /other\.json: field e2e_ms is missing$/],
    ['unit.txt', '1\n', ['--metric', 'e2e'], /write NAME:lower:UNIT or NAME:higher:UNIT/],
    ['rate.txt', '1\n', ['--metric', 'images_per_s'], /write NAME:lower:UNIT or NAME:higher/],
    ['whose.txt', '1\n', ['--metric', 'e2e_ms', '--as', 'aiperf'], /reports of aiperf name their metrics/],
    ['which.txt', '1\n', ['--as', 'command'], /which metric do they contain\? Add --metric/],
    ['note.txt', '1\n', ['--metric', 'e2e_ms', '--note', ' '], /A note has 1 to 500 characters/],
  ])('%s is refused in one line, and nothing is stored', async (name, text, args, problem) => {
    const before = queryStore(db, 'SELECT count(*) AS runs FROM runs');
    expect(await take(file(name, text), ...args, ...VIT)).toEqual(refusal(problem));
    expect(queryStore(db, 'SELECT count(*) AS runs FROM runs')).toEqual(before);
  });

  test('the same bare numbers are other runs where another number, cell or sweep is said', async () => {
    const { folder: own, db: store } = temporaryStore();
    const both = join(own, 'both.json');
    const alone = join(own, 'alone.txt');
    writeFileSync(both, '{"e2e_ms": 20, "decode.p99_ms": 3}');
    writeFileSync(alone, '12.4\n');
    const stored = async (...args: string[]): Promise<number> => {
      const { code, stdout } = await bench(['import', ...args, '--db', store, '--json']);
      expect(code).toBe(0);
      return JSON.parse(stdout).sweeps[0].stored;
    };
    expect(await stored(both, '--metric', 'e2e_ms', ...VIT, '--sweep', 'a')).toBe(1);
    expect(await stored(both, '--metric', 'decode.p99_ms', ...VIT, '--into', 'a')).toBe(1);
    expect(await stored(alone, '--metric', 'decode.p99_ms', ...VIT, '--into', 'a')).toBe(1);
    expect(await stored(alone, '--metric', 'decode.p99_ms', ...VIT, '--sweep', 'a')).toBe(0);
    expect(await stored(alone, '--metric', 'decode.p99_ms', ...VIT, '--sweep', 'b', '--note', 'new app')).toBe(1);
    const sides = await bench(['report', 'b', 'a', '--md', '--db', store]);
    expect(sides.stdout).toContain('\n> base: note of the import: new app\n');
    const large = ['--model', 'vit', '--precision', 'fp16', '--shapes', 'input:32x3x224x224'];
    expect(await stored(alone, '--metric', 'decode.p99_ms', ...large, '--into', 'b')).toBe(1);
    const map = await bench(['show', 'a', '--map', '--metric', 'decode.p99_ms', '--db', store]);
    expect(map.stdout).toContain('7.700');
    expect(map.stdout).not.toContain('✗');
    const other = join(own, 'other', 'bench.sqlite');
    mkdirSync(join(own, 'other'));
    await bench(['import', join(own, 'artefacts'), '--db', other]);
    const ids = 'SELECT run_id, sweep_id FROM runs ORDER BY 1';
    expect(queryStore(other, ids)).toEqual(queryStore(store, ids));
  });

  test('a pattern finds them in the lines of a log; its name says the metric', async () => {
    const text = 'start\nlatency: 12.5 ms\nno number: latency: x ms\nlatency:  13 ms\nlatency: 1,200.5 ms\n';
    const log = file('app.log', text);
    const own = join(temporaryFolder(), 'own.sqlite');
    for (const args of [
      ['--pattern', 'latency: {ms} ms'],
      ['--pattern', 'latency: {e2e_ms} ms'],
      ['--pattern', 'latency: {n} ms', '--metric', 'frames:higher:frames/s'],
    ]) {
      expect((await bench(['import', log, ...args, ...VIT, '--db', own])).code).toBe(0);
    }
    const metrics = ['latency_ms:lower:ms', 'e2e_ms:lower:ms', 'frames:higher:frames/s'];
    expect(queryStore(own, VALUES)).toMatchObject(metrics.map((metric) => ({ metric, value: 13 })));
    // Three cells of one name go by their keys.
    const pattern = /^bench: vit is 3 cells: name one, as in [\da-f]{8}, [\da-f]{8}, [\da-f]{8}\n$/;
    expect((await bench(['show', 'vit', '--db', own])).stderr).toMatch(pattern);
  });

  test.each([
    ['took {e2e} ms', '--pattern: {e2e} does not say its unit: write {e2e_ms}, or add --metric NAME:lower|higher:UNIT'],
    ['took ms', 'must be text with one name in braces, such as "latency: {ms} ms"'],
    ['{a_ms} {b_ms}', 'must be text with one name in braces, such as "latency: {ms} ms"'],
    ['{ms}', 'must be text with one name in braces, such as "latency: {ms} ms"'],
    ['never {ms} ms', 'no line contains "never {ms} ms"'],
    ['far {ms} ms', 'latency_ms is not a number above 0: Infinity'],
    ['mean {ms} ms', '"mean {ms} ms" finds 12,75, which is not a number: a decimal point is needed'],
  ])('the pattern %s is answered in one line', async (pattern, problem) => {
    const log = file('one.log', 'took 7 ms\nfar 5e400 ms\nmean 1,275 ms\nmean 12,75 ms\n');
    expect(await take(log, '--pattern', pattern, ...VIT)).toEqual(refusal(problem));
  });
});
