import { statSync } from 'node:fs';
import { join } from 'node:path';

import type { Browser } from 'puppeteer-core';

import { CHROMIUM, fileUrl, startChromium } from '../test/support/browser.ts';
import { makeLargeStore } from './large-store.ts';
import { bench } from './processes.ts';
import { type Benchmark, needing, type Row } from './row.ts';
import { inTemporaryFolder } from './temporary-folder.ts';
import { medianTimesMs, seconds, timedMs } from './timing.ts';

const NIGHTS = 365;
const ROUNDS = 7;
const WHAT = 'the report of 72 cells by 365 nights opens';

/** A year of nights as one HTML file: how large it is, and how long a browser takes until all of it is drawn. */
export const htmlReport: Benchmark = {
  name: 'report',
  run: () => inTemporaryFolder(measure),
};

async function measure(folder: string): Promise<Row[]> {
  const db = join(folder, 'year.sqlite');
  const file = join(folder, 'report.html');
  makeLargeStore(db, NIGHTS);
  // Not in a clone: the sweeps of this store are of no branch.
  const { wallMs } = await bench(['report', '--html', file, '--db', db], { cwd: folder });
  const megabytes = statSync(file).size / 1e6;
  const made = { kind: 'measured', against: '', theirs: '' } as const;
  return [
    {
      ...made,
      what: 'bench report --html, 72 cells by 365 nights, five runs each',
      ratio: wallMs / 1000,
      unit: ' s',
      target: null,
      ours: seconds(wallMs),
    },
    {
      ...made,
      what: 'the file',
      ratio: megabytes,
      unit: ' MB',
      target: { atMost: 2 },
      ours: `${megabytes.toFixed(2)} MB`,
    },
    needing([{ name: 'chromium', apt: 'chromium', path: CHROMIUM }], WHAT, '') ??
      (await openRow(file)),
  ];
}

async function openRow(file: string): Promise<Row> {
  const browser = await startChromium();
  try {
    const { open } = await medianTimesMs({ open: () => openMs(browser, file) }, ROUNDS);
    return {
      kind: 'measured',
      what: WHAT,
      against: '',
      ratio: open / 1000,
      unit: ' s',
      target: { atMost: 1 },
      ours: seconds(open),
      theirs: '',
    };
  } finally {
    await browser.close();
  }
}

/** From the address to the frame after the page's script has drawn everything. */
async function openMs(browser: Browser, file: string): Promise<number> {
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 900 });
  try {
    return await timedMs(async () => {
      await page.goto(fileUrl(file));
      await page.evaluate(
        'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))',
      );
      const isDrawn: unknown = await page.evaluate(
        `document.querySelector('#cell .trend') !== null`,
      );
      if (isDrawn !== true) throw new Error('the page drew no trend');
    });
  } finally {
    await page.close();
  }
}
