import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

import type { Browser, Page } from 'puppeteer-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { bench, sharedFolder } from '../support/bench.ts';
import { axeViolations, CHROMIUM, fileUrl, NEEDS_CHROMIUM, openPage, startChromium } from '../support/browser.ts';
import { normals, simulatedCells, simulateNights, sweepOfNight } from '../support/simulated-store.ts';
import type { SimulatedLayer } from '../support/simulated-store.ts';

const commit = (night: number): string => (0xabcd0000 + night).toString(16).padEnd(40, '0');

/** A fused attention that is three layers once the cell is slow: 5 % more. */
function layersOf(unitMs: number, isSlow: boolean): SimulatedLayer[] {
  const [qk, softmax, av] = ['/attn/MatMul', '/attn/Softmax', '/attn/MatMul_1'];
  const layer = (name: string, share: number, ...origins: string[]) => ({ name, ms: share * unitMs, origins });
  return [
    layer('qkv', 0.3, '/attn/qkv/MatMul'),
    ...(isSlow
      ? [layer('qk', 0.12, qk), layer('softmax', 0.11, softmax), layer('av', 0.12, av)]
      : [layer('mha_v2', 0.3, qk, softmax, av)]),
    layer('fc1', 0.4, '/mlp/fc1/MatMul'),
  ];
}

const isSlow = (cell: number, night: number): boolean => cell % 2 === 1 && night >= 54;

describe.skipIf(CHROMIUM === null)(`the first screen of the report (${NEEDS_CHROMIUM})`, () => {
  let browser: Browser;
  let file: string;
  const cells = simulatedCells(8);

  beforeAll(async () => {
    const cwd = sharedFolder();
    const git = (...args: string[]): void => void execFileSync('git', args, { cwd, stdio: 'ignore' });
    git('init', '-b', 'main');
    git('remote', 'add', 'origin', 'https://me:secret@github.com/acme/bench.git');
    const random = normals(18);
    const db = join(cwd, 'bench.sqlite');
    simulateNights(db, {
      cells,
      nights: 60,
      repeats: 3,
      branch: 'main',
      commit,
      value: (cell, night) => (1 + cell) * (1 + 0.002 * random()) * (isSlow(cell, night) ? 1.05 : 1),
      engine: (cell, night) => ({
        buildId: `e${cell}${isSlow(cell, night) ? 1 : 0}`.padEnd(32, '0'),
        ...(cell === 5 ? { layers: layersOf(1 + cell, isSlow(cell, night)) } : {}),
      }),
    });
    file = join(cwd, 'r.html');
    const { code, stderr } = await bench(['report', '--html', file, '--db', db], { cwd });
    if (code !== 0 && code !== 1 && code !== 4) throw new Error(stderr);
    browser = await startChromium();
  }, 120_000);

  afterAll(async () => await browser?.close());

  const open = async (width: number) =>
    openPage(browser, fileUrl(file), (page) => page.setViewport({ width, height: 900 }));

  /** Text of what lies in the window from its top to `height`, and in its width. */
  async function visibleText(page: Page, height: number): Promise<string> {
    const found = await page.evaluate(`(() => {
      const texts = [];
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const range = document.createRange();
        range.selectNodeContents(walker.currentNode);
        const { bottom, right, width } = range.getBoundingClientRect();
        if (width > 0 && bottom <= ${height} && right <= innerWidth) texts.push(walker.currentNode.textContent);
      }
      return texts.join(' ');
    })()`);
    return String(found).replace(/\s+/g, ' ').replaceAll(' ,', ',');
  }

  test('what, how much, since which commit, how sure and what next are in its first 900 pixels', async () => {
    const { page, faults } = await open(1400);
    await page.waitForSelector('.first-chart .trend');
    const shown = await visibleText(page, 900);
    expect(shown).toMatch(/4 cells slower by (4\.\d to )?5(\.\d)? %.*All fp8, since 2026-02-24: new\./);
    expect(shown).toMatch(/First bad commit abcd0036.*Evidence 6 sweeps/);
    expect(shown).toContain(`bench compare ${sweepOfNight(53).slice(0, 8)} ${sweepOfNight(54).slice(0, 8)}`);
    expect(shown).toMatch(/4 slower 0 faster 4 same \+2\.\d % geometric mean/);
    const box = await (await page.$('.first-chart .trend'))?.boundingBox();
    expect((box?.y ?? 900) + (box?.height ?? 0)).toBeLessThan(900);
    await page.evaluate(`navigator.clipboard.writeText = async (text) => { window.copied = text; }`);
    await page.click('.commands li:nth-child(2) button');
    await expect.poll(() => page.evaluate('window.copied')).toMatch(/^bench \w+ [0-9a-f]{8}$/);
    expect(faults).toEqual([]);
  });

  test('at 390 pixels the verdict comes first, and nothing scrolls sideways', async () => {
    const { page } = await open(390);
    const shown = await visibleText(page, 400);
    expect(shown).toContain('4 cells slower');
    expect(shown).toContain('since 2026-02-24');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    const violations = await axeViolations(page);
    expect(violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')).toEqual([]);
  });

  test.each([
    [1400, 24, true],
    [390, 44, false],
  ])('at %i pixels text has 14 pixels or more, controls %i; commands are open: %s', async (width, least, isOpen) => {
    const { page, faults } = await open(width);
    expect(await page.$eval('.commands', (one) => one.hasAttribute('open'))).toBe(isOpen);
    await page.evaluate(`document.querySelector('#cells-table tbody a').click()`);
    // It is drawn once more as soon as the width of its row is known.
    const right = `document.querySelector('#cell .trend')?.getBoundingClientRect().right`;
    await page.waitForFunction(`${right} > ${width * 0.8} && ${right} < ${width}`);
    await page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`);
    const small = await page.evaluate(`(() => {
      const isShown = (one) => one.getClientRects().length > 0 && one.closest('.skip, script, style') === null;
      const hasText = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== '');
      const texts = [...document.querySelectorAll('body *')].filter((one) => isShown(one) && hasText(one));
      const controls = [...document.querySelectorAll('a, button, select, input, summary')].filter(isShown);
      const low = controls.filter((one) => one.getBoundingClientRect().height < ${least} - 0.5);
      return [...texts.filter((one) => parseFloat(getComputedStyle(one).fontSize) < 14), ...low].map((one) => one.outerHTML);
    })()`);
    expect([small, faults]).toEqual([[], []]);
  });

  test('commits are links to the forge, without the password of the remote', async () => {
    const { page } = await open(1400);
    const links = await page.$$eval('#overview dd a', (found) => found.map((link) => link.getAttribute('href')));
    const forge = 'https://github.com/acme/bench';
    expect(links).toEqual([`${forge}/commit/${commit(54)}`, `${forge}/compare/${commit(53)}...${commit(54)}`]);
    expect(await page.content()).not.toContain('secret');
  });

  test('a finding has the layers of a cell before and after, and what fusion was lost', async () => {
    const { page } = await open(1400);
    const title = await page.$eval('#findings h4 + p', (node) => node.textContent ?? '');
    expect(title).toContain('profiles of 2026-01-01 02:00 and 2026-02-24 02:00: 6.000 ms → 6.300 ms a query.');
    const rows = await page.$$eval('#findings h4 ~ .wide tbody tr', (found) =>
      found.map((row) => [...row.children].map((cell) => cell.textContent)),
    );
    expect(rows).toEqual([
      ['/attn: MatMul, MatMul_1, Softmax', '+0.3000 ms', '1.800 ms', '2.100 ms', 'fusion lost'],
      ['all other layers that kept their kernels', '0 ms', '4.200 ms', '4.200 ms', 'same kernel'],
    ]);
    const lost = await page.$eval('#findings .fusions', (node) => node.textContent);
    expect(lost).toBe('fusion lost: mha_v2 → 3 layers: qk, softmax, av');
  });
});
