import { join } from 'node:path';

import type { Browser, Page } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { bench, ROOT, sharedFolder } from '../support/bench.ts';
import { axeViolations, CHROMIUM, fileUrl, NEEDS_CHROMIUM, openPage, startChromium } from '../support/browser.ts';
import { normals, simulatedCells, simulateNights } from '../support/simulated-store.ts';

/** What follows an event of mouse or keys takes its turn in the browser. */
const WAIT = { timeout: 10_000 };

const SORT_BY_SHAPE = `[...document.querySelectorAll('thead button')].find((one) => one.textContent === 'shape').click()`;

const QUICKSTART = join(ROOT, 'matrices', 'quickstart.yaml');

describe.skipIf(CHROMIUM === null)(`the report in a browser (${NEEDS_CHROMIUM})`, () => {
  let browser: Browser;
  let recorded: string;
  let simulated: string;
  const cells = simulatedCells(6);
  const [first, second] = cells.map(({ key }) => key);

  beforeAll(async () => {
    const cwd = sharedFolder();
    const db = join(cwd, 'recorded.sqlite');
    const profiled = ['--filter', 'batch=8 & cudaGraph=on', '--profile'];
    for (const args of [profiled, ['--replay', 'night2'], profiled]) {
      const { code, stderr } = await bench(['run', QUICKSTART, ...args, '--db', db], { cwd });
      if (code !== 0 && code !== 1 && code !== 4) throw new Error(stderr);
    }
    recorded = await made(db, cwd);
    const random = normals(7);
    const nights = join(cwd, 'simulated.sqlite');
    simulateNights(nights, {
      cells,
      nights: 60,
      repeats: 3,
      value: (cell, night) =>
        cell === 2 && night === 30 ? null : (1 + cell) * (1 + 0.002 * random()) * (cell === 0 && night >= 50 ? 1.1 : 1),
      commit: (night) => night.toString(16).padStart(40, '0'),
      driver: (night) => (night < 25 ? '580.1' : '580.2'),
    });
    simulated = await made(nights, cwd);
    browser = await startChromium();
  }, 240_000);

  afterAll(async () => await browser?.close());

  async function made(db: string, cwd: string): Promise<string> {
    const file = db.replace('.sqlite', '.html');
    const { code, stderr } = await bench(['report', '--html', file, '--db', db], { cwd });
    if (code !== 0 && code !== 1 && code !== 4) throw new Error(stderr);
    return file;
  }

  const text = (page: Page, selector: string): Promise<string> =>
    page.$eval(selector, (node) => node.textContent ?? '');

  /** The network is off; what the page does next must not need it. */
  async function open(file: string, hash = '', prepare?: (page: Page) => Promise<void>) {
    return openPage(browser, fileUrl(file, hash), async (page) => {
      await page.setOfflineMode(true);
      await prepare?.(page);
    });
  }

  test('every view is used by mouse and keys: no error, and no request but for the file', async () => {
    const { page, faults } = await open(simulated);
    expect(await text(page, 'h1')).toMatch(/^1 cell slower by (9|10)\.\d\u00a0%$/);
    expect(await text(page, '.provenance')).toBe('simulated');

    await page.click(`#cells-table tr[data-key="${first}"] a`);
    await page.waitForSelector('#cell .trend');
    await expect.poll(() => text(page, '#cell .label'), WAIT).toBe('vit fp16 1x3x224x224 graph');
    await expect.poll(() => text(page, '#cell .range'), WAIT).toContain('60 sweeps');

    await page.click('#cell button[aria-label="the last 30 sweeps"]');
    await expect.poll(() => text(page, '#cell .range'), WAIT).toContain('30 sweeps');
    await page.focus('#cell .stage');
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => text(page, '#said'), WAIT).toContain('2026-02-28 02:00');
    expect(await text(page, '#said')).toMatch(/median of 3 runs.*commit 0000000000.*driver 580.2/);
    const box = await (await page.$('#cell .stage'))?.boundingBox();
    if (!box) throw new Error('no chart');
    await page.mouse.move(box.x + 400, box.y + 140);
    await expect.poll(() => text(page, '#tip'), WAIT).toContain('simulated');
    await page.keyboard.press('Escape');
    expect(await (await page.$('#tip'))?.isVisible()).toBe(false);

    await page.click('#cell button[aria-label="all sweeps"]');
    expect(await text(page, '#cell .sign.slower')).toMatch(/^slower \+(9|10)\.\d % · 00000000 · \d+ Feb$/);
    expect(await text(page, '#cell .trend > .axis')).toBe('ms');
    expect(await page.$$eval('#cell .plot .line, #cell .plot .band', (paths) => paths.length)).toBeGreaterThan(1);

    expect([await text(page, '#environment'), faults]).toEqual([expect.stringContaining('driver 580.1 → 580.2'), []]);
  });

  test('recorded runs have distributions, layers and their difference, and a front', async () => {
    const { page, faults } = await open(recorded);
    expect(await text(page, '.provenance')).toContain('recorded');
    const key = await page.$$eval('#cells-table tbody tr', (rows) =>
      rows.find((row) => /vit_small\s*fp8\s*b8\s*graph/.test(row.textContent ?? ''))?.getAttribute('data-key'),
    );
    await page.evaluate(`location.hash = 'cell=${key}'`);
    await page.waitForSelector('#cell .tree-map');
    expect(await page.$$eval('#cell .samples .bar', (bars) => bars.length)).toBeGreaterThan(10);
    const pattern = /^Median 0\.8163 ms in 1 run of .* \(line\), 0\.8166 ms in 1 run of .* \(filled\): \+0\.04 %\.$/;
    expect(await text(page, '#cell .samples-words')).toMatch(pattern);
    expect(await page.$$eval('#cell .samples .before', (lines) => lines.length)).toBe(1);
    expect(await page.$$eval('#cell .tree-map .tile', (tiles) => tiles.length)).toBe(190);
    const purposes = await text(page, '#cell section .key');
    expect(purposes).toMatch(/the network's own work.*casts.*shape work.*copies between formats/);
    expect(await page.$$eval('#pareto-chart .point.hollow', (points) => points.length)).toBe(4);
    await page.evaluate(`document.querySelector('#pareto-chart a').focus()`);
    await expect.poll(() => text(page, '#tip'), WAIT).toContain('items/s');
    await page.keyboard.press('Enter');
    await page.waitForFunction(`location.hash !== '#cell=${key}'`);
    expect(faults).toEqual([]);
  });

  test('a shared link opens its cell; a wrong one opens none', async () => {
    const { page, faults } = await open(simulated, `#cell=${second}`);
    await expect.poll(() => text(page, '#cell .label'), WAIT).toBe('vit fp8 2x3x224x224 graph');
    await page.evaluate(`location.hash = 'cell="><img src=x onerror=alert(1)>'`);
    await expect.poll(() => page.$('#cell'), WAIT).toBeNull();
    expect(faults).toEqual([]);
  });

  test('a cell opens below its row, stays there when the rows change, and closes', async () => {
    const { page, faults } = await open(simulated, `#cell=${second}`);
    const above = () => page.$eval('.opened', (row) => row.previousElementSibling?.getAttribute('data-key'));
    expect(await above()).toBe(second);
    await page.evaluate(SORT_BY_SHAPE);
    expect(await above()).toBe(second);
    await page.type('#filter', 'fp16');
    expect(await page.$eval('.opened', (row) => row.hasAttribute('hidden'))).toBe(true);
    await page.evaluate(`document.querySelector('.close').click()`);
    await expect.poll(() => page.$('.opened'), WAIT).toBeNull();
    expect(faults).toEqual([]);
  });

  test('two sweeps are two points on the level of each, and no line between them', async () => {
    const db = join(sharedFolder(), 'two.sqlite');
    simulateNights(db, { cells, nights: 2, repeats: 3, value: (cell, night) => (1 + cell) * (night === 1 ? 1.2 : 1) });
    const { page, faults } = await open(await made(db, sharedFolder()));
    await page.waitForSelector('.first-chart .dot');
    expect(await page.$$eval('.first-chart .dot', ({ length }) => length)).toBe(2);
    expect(await page.$$eval('.first-chart .line, .first-chart .band', ({ length }) => length)).toBe(0);
    expect(await text(page, '#cells-table .sparks span')).toBe('▄!');
    expect(faults).toEqual([]);
  });

  test('words choose rows; the head of a column sorts them, and the other way round', async () => {
    const { page, faults } = await open(simulated);
    await page.type('#filter', 'fp8 b4');
    expect(await text(page, '#filter-count')).toBe('1 of 6');
    await page.evaluate(`filter.value = ''; filter.dispatchEvent(new Event('input'))`);
    const keys = () => page.$$eval('#cells-table tbody tr', (rows) => rows.map((row) => row.dataset['key']));
    const sorted = async () => {
      await page.evaluate(SORT_BY_SHAPE);
      return keys();
    };
    const byBatch = cells.map(({ key }) => key);
    expect(await sorted()).toEqual(byBatch.toReversed());
    expect([await sorted(), faults]).toEqual([byBatch, []]);
  });

  test('at 390 pixels verdict, cell, change and picture of each row are in the window', async () => {
    const { page } = await open(simulated, '', (one) => one.setViewport({ width: 390, height: 844 }));
    const rows = await page.$$eval('#cells-table tr', (all) =>
      all.map((row) => {
        const shown = [...row.children].filter((cell) => cell.clientWidth > 0);
        const right = Math.max(...shown.map((cell) => cell.getBoundingClientRect().right));
        return { kinds: shown.map((cell) => cell.className || cell.tagName), isInside: right <= 390 };
      }),
    );
    const [heads, ...cellsOfBody] = rows;
    expect(heads).toEqual({ kinds: ['verdict', 'name', 'number change', 'sparks'], isInside: true });
    expect([cellsOfBody.length, new Set(cellsOfBody.map(({ isInside }) => isInside))]).toEqual([6, new Set([true])]);
    const shown = await page.$eval(`#cells-table tr[data-key="${first}"]`, (row) => row.innerText);
    expect(shown).toMatch(/^slower\s+vit\s+fp16 b1\s+\+(9|10)\.\d\s%\s+[▁-▇!]{16}$/);
  });

  test.each(['light', 'dark'])(
    'axe-core finds no fault, %s',
    async (scheme) => {
      for (const file of [simulated, recorded]) {
        const { page } = await open(file, `#cell=${first}`, (one) =>
          one.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]),
        );
        await page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`);
        expect(await axeViolations(page)).toEqual([]);
      }
    },
    120_000,
  );

  test('names that would be markup stay text', async () => {
    const cwd = sharedFolder();
    const evil = `</script><script>window.pwned=1</script><img src=x onerror="window.pwned=1">'"&amp;\u2028`;
    const long = `${evil}${'x'.repeat(10_000)}`;
    const db = join(cwd, 'evil.sqlite');
    simulateNights(db, {
      cells: cells.map((cell, place) => ({ ...cell, model: place === 0 ? long : evil })),
      nights: 25,
      repeats: 2,
      value: (cell, night) => (1 + cell) * (night >= 20 ? 1.3 : 1) * (1 + 0.001 * (night % 3)),
      commit: () => evil,
      branch: null,
      driver: (night) => (night < 10 ? evil : 'b'),
    });
    const { page, faults } = await open(await made(db, cwd), `#cell=${first}`);
    expect(await page.evaluate('window.pwned')).toBeUndefined();
    expect(await page.$$eval('img', (images) => images.length)).toBe(0);
    expect(await page.$$eval('script', (scripts) => scripts.length)).toBe(2);
    await expect.poll(() => text(page, '#cell .label'), WAIT).toContain('<img src=x onerror=');
    expect((await text(page, '#cell .label')).length).toBeGreaterThan(10_000);
    expect(await text(page, '#cells-table')).toContain('</script><script>window.pwned=1</script>');
    expect(await text(page, '#environment')).toContain('driver </script>');
    expect([await page.evaluate('document.documentElement.scrollWidth'), faults]).toEqual([1280, []]);
  });
});
