import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { seededRandom } from '../../../src/matrix/plan/order.ts';
import { bench, temporaryStore } from '../../support/bench.ts';
import { benchJson, jsonOf, OUTPUTS } from '../../support/outputs.ts';
import {
  normals,
  simulatedCells,
  type SimulatedNights,
  simulateNights,
  sweepOfNight,
} from '../../support/simulated-store.ts';
import { Repository } from '../../support/repository.ts';
import { change } from '../../support/store-dump.ts';

/** `BENCH_RANDOM_STORES=300` makes more of them. Each of these said several things at some time, or has other events. */
const MORE = Array.from({ length: Number(process.env['BENCH_RANDOM_STORES'] ?? 0) }, (_, more) => more + 100);

/** Steps, single sweeps, creep, groups, contended sweeps and failures: nothing is the same in two of them. */
function randomSweeps(seed: number): SimulatedNights {
  const random = seededRandom(seed);
  const normal = normals(seed);
  const pick = (least: number, most: number): number => least + Math.floor(random() * (most - least + 1));
  const [cells, nights, repeats] = [simulatedCells(pick(1, 9)), pick(2, 26), pick(1, 4)];
  const events = Array.from({ length: pick(0, 3) }, () => ({
    kind: pick(0, 4),
    cell: pick(0, cells.length - 1),
    at: pick(1, nights - 1),
    factor: 1 + (random() < 0.3 ? -0.5 : 1) * 0.3 * random(),
  }));
  const night = Array.from({ length: nights }, () => 0.001 * normal());
  const factorOf = (cell: number, at: number): number =>
    events.reduce((product, event) => {
      const isIts = event.kind === 1 ? cell % 2 === event.cell % 2 : event.kind === 2 || cell === event.cell;
      const isNow = event.kind === 3 ? at === event.at : at >= event.at;
      const steps = event.kind === 4 ? Math.max(0, at - event.at) : Number(isNow);
      return isIts ? product * event.factor ** (event.kind === 4 ? steps / 8 : steps) : product;
    }, 1);
  const isFailed = (cell: number, at: number): boolean => seed % 4 === 0 && cell === 0 && at === nights - 1;
  return {
    cells,
    nights,
    repeats,
    value: (cell, at) =>
      isFailed(cell, at)
        ? null
        : (0.5 + 0.1 * cell) * factorOf(cell, at) * Math.exp((night[at] ?? 0) + 0.002 * normal()),
    flags: (cell, at) =>
      seed % 5 === 0 && cell === 1 && at === nights - 1
        ? [{ id: 'contended', effect: 'explained', value: null, evidence: 'another process on the GPU: python3 (7)' }]
        : [],
  };
}

/** Every second store was checked before. A filter left cells out of the newest sweep, or it is a pull request. */
async function storeSweeps(db: string, folder: string, sweeps: SimulatedNights, seed: number): Promise<void> {
  const [newest, before] = [sweepOfNight(sweeps.nights - 1), (seed % 2) * Math.floor(sweeps.nights / 2)];
  const repository = seed % 3 === 2 ? new Repository(folder) : null;
  const commits = repository === null ? [] : Array.from({ length: sweeps.nights }, () => repository.commit());
  repository?.git('checkout', '--quiet', '-b', 'feature');
  const all = { ...sweeps, branch: 'main', commit: (night: number) => commits[night] ?? null };
  simulateNights(db, { ...all, nights: before });
  if (before > 0) await bench(['check', '--db', db], { cwd: folder });
  simulateNights(db, { ...all, nights: sweeps.nights - before, after: before });
  if (repository !== null) change(db, `UPDATE sweeps SET git_branch = 'feature' WHERE sweep_id = '${newest}'`);
  if (seed % 3 !== 1) return;
  const leftOut = sweeps.cells.flatMap(({ key }, cell) => (cell % 2 === seed % 2 ? [] : [key])).slice(0, -1);
  change(db, `UPDATE sweeps SET plan = '${JSON.stringify({ leftOut })}' WHERE sweep_id = '${newest}'`);
  for (const rows of ['runs', 'sweep_cells'])
    change(db, `DELETE FROM ${rows} WHERE sweep_id = '${newest}' AND cell_key IN ('${leftOut.join("','")}')`);
}

test.each([1, 2, 5, 8, 34, 96, 127, ...MORE])('random store %i: every output says the same', async (seed) => {
  const { db, folder } = temporaryStore();
  await storeSweeps(db, folder, randomSweeps(seed), seed);
  const here = { cwd: folder };
  const run = (...args: string[]) => bench([...args, '--db', db], here);
  // What notify gets; null where it is not started.
  const news = join(folder, 'news.json');
  const notify = ['--notify', JSON.stringify(['sh', '-c', 'cat > news.json'])];
  const answers = async () => {
    rmSync(news, { force: true });
    const checked = await benchJson(OUTPUTS.check, ['check', ...notify, '--db', db], here);
    const compared = await benchJson(OUTPUTS.compare, ['compare', '--db', db], here);
    const reported = await benchJson(OUTPUTS.report, ['report', '--md', 'report.md', '--db', db], here);
    const [check, compare, report] = [checked.json, compared.json, reported.json];
    const trend = await jsonOf(OUTPUTS.trend, ['trend', '--db', db], here);
    const [series] = check.series;
    const cells = series?.cells ?? [];
    // One exit code.
    expect([compared.code, reported.code]).toEqual([checked.code, checked.code]);
    // Programs are told what is new, and nothing where nothing is.
    const isNews = check.findings.some(({ direction, state }) => direction === 'slower' && state === 'new');
    expect(existsSync(news) ? JSON.parse(readFileSync(news, 'utf8')) : null).toEqual(isNews ? check : null);
    // One headline, also in the text of each.
    expect(report.headline).toBe(series?.headline);
    const text = await run('check');
    expect(text.stdout.replaceAll(/\s+/g, ' ')).toContain(series?.headline.replaceAll(/\s+/g, ' '));
    expect(await run('compare')).toEqual(text);
    expect((await run('report', '--md', '-')).stdout).toContain(series?.headline ?? '');
    // One verdict, reference, value, change and interval of each cell.
    expect(compare.cells).toMatchObject(
      cells.map(({ before: base, now: head, key, changePercent, ciPercent }) => ({
        key,
        base,
        head,
        changePercent,
        ciPercent,
      })),
    );
    expect(compare.counts.slower).toBe(cells.filter(({ verdict }) => verdict === 'slower').length);
    for (const { key, verdict, before, now, changePercent } of trend.cells)
      expect(cells.find((cell) => cell.key === key)).toMatchObject({ verdict, before, now, changePercent });
    // One word for each finding, and one failure in JUnit for each that makes an exit code.
    const listed = await jsonOf(OUTPUTS.findings, ['ls', 'findings', '--last', '1000', '--db', db], here);
    for (const { id, state } of check.findings) expect(listed.findings.find((one) => one.id === id)?.state).toBe(state);
    const junit = (await run('report', '--junit', '-')).stdout;
    expect(junit.split('<failure').length - 1).toBe(report.findings.length);
    expect(junit.split(/name="new" value="true"\/>\s*<\/properties>\s*<failure/).length - 1).toBe(
      report.findings.filter(({ state }) => state === 'new').length,
    );
    // One set of findings; a slower cell is one of theirs, and what is slower makes the exit code.
    const there = check.findings.filter(({ state }) => state === 'new' || state === 'open');
    expect(report.findings.map(({ id }) => id).toSorted()).toEqual(
      expect.arrayContaining(there.filter(({ direction }) => direction === 'slower').map(({ id }) => id)),
    );
    const slower = there.filter(({ direction, isWarning }) => direction === 'slower' && !isWarning);
    const named = new Set(slower.flatMap((finding) => finding.cells));
    for (const { key, verdict } of cells) if (verdict === 'slower') expect(named).toContain(key);
    const open = slower.flatMap(({ details }) => details.map(({ key, metric }) => `${key} ${metric}`));
    for (const { key, metric, verdict } of cells)
      if (verdict === 'same') expect(open).not.toContain(`${key} ${metric}`);
    const failed = cells.filter(({ reason }) => reason === 'failed');
    expect(checked.code).toBe(slower.length > 0 ? 1 : failed.length > 0 ? 4 : 0);
    expect((await run('check', '--fail-on', 'regression')).code).toBe(slower.length > 0 ? 1 : 0);
    for (const { notes, verdict } of failed)
      expect([verdict, notes]).toEqual(['noResult', [expect.stringMatching(/^(?:outOfMemory|contended: )/)]]);
    return check;
  };
  const before = await answers();
  if (!before.findings.some(({ direction, state }) => direction === 'slower' && state === 'new')) return;
  expect((await run('ack', '--all', '--reason', 'random')).code).toBe(0);
  const after = await answers();
  expect(after.findings.filter(({ direction, state }) => direction === 'slower' && state === 'new')).toEqual([]);
  expect(after.series[0]?.cells.filter(({ verdict }) => verdict === 'slower')).toEqual([]);
});

test.each([1, 8, 12])('random store %i: --as-of says what check said that morning', async (seed) => {
  const { db, folder } = temporaryStore();
  const simulated = randomSweeps(seed);
  const answer = async (...args: string[]) => {
    const { code, json } = await benchJson(OUTPUTS.check, ['check', ...args, '--db', db], { cwd: folder });
    return [code, json.series[0]?.headline, json.findings.map(({ id, state }) => `${id} ${state}`).toSorted()];
  };
  const mornings: Awaited<ReturnType<typeof answer>>[] = [];
  for (let after = 0; after < simulated.nights; after += 1) {
    simulateNights(db, { ...simulated, nights: 1, after });
    mornings.push(await answer());
  }
  // An acknowledgement counts from the sweep before it on.
  await bench(['ack', '--all', '--reason', 'random', '--db', db], { cwd: folder });
  for (const [night, morning] of mornings.slice(0, -1).entries())
    expect(await answer('--as-of', sweepOfNight(night))).toEqual(morning);
});
