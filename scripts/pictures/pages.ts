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
  readonly at: 'recorded' | 'pair' | 'simulated';
  readonly width: number;
  readonly height: number;
  readonly scheme: 'light' | 'dark';
  /** What the picture begins with; else it is the first screen. */
  readonly from?: string;
  /** Whether a cell of vit_small fp8 is opened first. */
  readonly opensCell?: boolean;
}

const FIRST_SCREENS = (['light', 'dark'] as const).flatMap((scheme): View[] => [
  { name: `simulated-page-1400-${scheme}`, at: 'simulated', width: 1400, height: 900, scheme },
  { name: `simulated-page-390-${scheme}`, at: 'simulated', width: 390, height: 844, scheme },
]);

const OPEN_CELL = `location.hash = [...document.querySelectorAll('#cells-table tbody tr')]
  .find((row) => /vit_small\\s*fp8\\s*b?8(?!.*no-graph)/.test(row.textContent)).querySelector('a').getAttribute('href')`;

const PART = { width: 1120, height: 868, scheme: 'light' } as const;

export const VIEWS: readonly View[] = [
  ...FIRST_SCREENS,
  { ...PART, name: 'simulated-cell', at: 'simulated', from: '#cell', opensCell: true },
  { ...PART, name: 'report', at: 'recorded', from: '#cell section:has(.samples)', opensCell: true },
  { ...PART, name: 'layers', at: 'pair', from: '#findings-title' },
];

/** Photographs the reports of a simulated store, and of recorded H200 runs with their layers. */
export async function takeViews(
  browser: Browser,
  views: readonly View[],
  write: (name: string, picture: Uint8Array) => void,
): Promise<void> {
  const folders = new Map<string, string>();
  try {
    for (const { name, at, width, height, scheme, from, opensCell } of views) {
      const folder = folders.get(at) ?? makeReport(at);
      folders.set(at, folder);
      const page = await browser.newPage();
      await page.setViewport({ width, height });
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      await page.goto(fileUrl(join(folder, 'report.html')));
      if (opensCell === true) {
        await page.evaluate(OPEN_CELL);
        await page.waitForSelector('#cell svg');
      }
      if (from !== undefined) {
        await page.waitForSelector(from);
        await page.evaluate(`document.querySelector('${from}').scrollIntoView(); scrollBy(0, -60)`);
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
  else if (at === 'pair') {
    for (const name of ['quickstart-pair', 'quickstart-pair-opt32']) {
      bench(folder, 'run', join(ROOT, 'matrices', `${name}.yaml`), '--filter', 'batch=8', '--profile');
    }
    bench(folder, 'check');
  } else {
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
