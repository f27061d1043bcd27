/**
 * Takes the picture of docs/output.md: the report of recorded H200 runs in a real browser.
 *
 *     node scripts/report-picture.ts        after `npm run build`; needs Chromium: apt-get install chromium
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { CHROMIUM, fileUrl, NEEDS_CHROMIUM, startChromium } from '../test/support/browser.ts';

const ROOT = join(import.meta.dirname, '..');
const PICTURE = join(ROOT, 'docs', 'pictures', 'report.png');
const MATRIX = join(ROOT, 'matrices', 'quickstart.yaml');

function bench(cwd: string, ...args: readonly string[]): string {
  const file = join(ROOT, 'bin', 'bench.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

if (CHROMIUM === null) {
  process.stderr.write(`${NEEDS_CHROMIUM}\n`);
  process.exitCode = 3;
} else {
  const folder = mkdtempSync(join(tmpdir(), 'bench-picture-'));
  const browser = await startChromium();
  try {
    const profiled = ['--filter', 'batch=8 & cudaGraph=on', '--profile'];
    const db = ['--db', join(folder, 'bench.sqlite')];
    bench(folder, 'run', MATRIX, ...profiled, ...db);
    bench(folder, 'run', MATRIX, '--replay', 'night1', ...db);
    bench(folder, 'run', MATRIX, '--replay', 'night2', ...db);
    bench(folder, 'report', '--html', 'report.html', ...db);
    const page = await browser.newPage();
    await page.setViewport({ width: 1120, height: 868 });
    await page.goto(fileUrl(join(folder, 'report.html')));
    await page.evaluate(
      `location.hash = [...document.querySelectorAll('#cells-table tbody tr')]
        .find((row) => /vit_small.*fp8b8/.test(row.textContent)).querySelector('a').getAttribute('href')`,
    );
    await page.waitForSelector('#cell .tree-map');
    const against = '#cell section > div:last-child select';
    const choices = await page.$$eval(`${against} option`, (options) => options.length);
    await page.select(against, String(choices - 1));
    await page.evaluate(`document.querySelector('#cell .samples').parentElement.scrollIntoView(); scrollBy(0, -44)`);
    await page.screenshot({ path: PICTURE });
    process.stdout.write(`docs/pictures/report.png: ${statSync(PICTURE).size} bytes\n`);
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
