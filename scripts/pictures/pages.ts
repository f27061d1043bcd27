import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Browser } from 'puppeteer-core';

import { fileUrl } from '../../test/support/browser.ts';
import { writeSimulatedStore } from './simulated.ts';

const ROOT = join(import.meta.dirname, '..', '..');

interface View {
  readonly name: string;
  readonly at: 'recorded' | 'simulated';
  readonly width: number;
  readonly height: number;
  readonly scheme: 'light' | 'dark';
  /** What the picture begins with, after a cell of vit_small fp8 was chosen; else it is the first screen. */
  readonly from?: string;
}

const FIRST_SCREENS = (['light', 'dark'] as const).flatMap((scheme): View[] => [
  { name: `simulated-page-1400-${scheme}`, at: 'simulated', width: 1400, height: 900, scheme },
  { name: `simulated-page-390-${scheme}`, at: 'simulated', width: 390, height: 844, scheme },
]);

const OPEN_CELL = `location.hash = [...document.querySelectorAll('#cells-table tbody tr')]
  .find((row) => /vit_small\\s*fp8\\s*b?8(?!.*no-graph)/.test(row.textContent)).querySelector('a').getAttribute('href')`;

const CELL = { width: 1120, height: 868, scheme: 'light' } as const;

export const VIEWS: readonly View[] = [
  ...FIRST_SCREENS,
  { ...CELL, name: 'simulated-cell', at: 'simulated', from: '#cell' },
  { ...CELL, name: 'report', at: 'recorded', from: '#cell .samples' },
];

/** Photographs the reports of a simulated store, and of recorded H200 runs with their layers. */
export async function takeViews(
  browser: Browser,
  views: readonly View[],
  write: (name: string, picture: Uint8Array) => void,
): Promise<void> {
  const folders = new Map<string, string>();
  try {
    for (const { name, at, width, height, scheme, from } of views) {
      const folder = folders.get(at) ?? makeReport(at);
      folders.set(at, folder);
      const page = await browser.newPage();
      await page.setViewport({ width, height });
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      await page.goto(fileUrl(join(folder, 'report.html')));
      if (from !== undefined) {
        await page.evaluate(OPEN_CELL);
        await page.waitForSelector('#cell svg');
        await page.waitForSelector(from);
        await page.evaluate(`document.querySelector('${from}').scrollIntoView(); scrollBy(0, -150)`);
      }
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
      write(`${name}.png`, await page.screenshot({ optimizeForSpeed: false }));
      await page.close();
    }
  } finally {
    for (const folder of folders.values()) rmSync(folder, { recursive: true, force: true });
  }
}

/** A folder with report.html. */
function makeReport(at: View['at']): string {
  const folder = mkdtempSync(join(tmpdir(), 'bench-page-'));
  const matrix = join(ROOT, 'matrices', 'quickstart.yaml');
  if (at === 'simulated') writeSimulatedStore(join(folder, 'bench.sqlite'));
  else {
    bench(folder, 'run', matrix, '--filter', 'batch=8 & cudaGraph=on', '--profile');
    bench(folder, 'run', matrix, '--replay', 'night1');
    bench(folder, 'run', matrix, '--replay', 'night2');
  }
  bench(folder, 'report', '--html', 'report.html');
  return folder;
}

function bench(cwd: string, ...args: readonly string[]): void {
  const env = { ...process.env, BENCH_DB: join(cwd, 'bench.sqlite') };
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'bin', 'bench.js'), ...args], {
    cwd,
    encoding: 'utf8',
    env,
  });
  // 1 is an answer: something is slower.
  if (status !== 0 && status !== 1) throw new Error(`${args.join(' ')}: ${stderr}`);
}
