import { statSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import type { Browser } from 'puppeteer-core';

import { encodeLayers, encodeSamples } from '../src/store/runs/blob-codecs.ts';
import { keepChecksums } from '../src/store/verify/row-checksums.ts';
import { CHROMIUM, fileUrl, startChromium } from '../test/support/browser.ts';
import { makeLargeStore } from './large-store.ts';
import { bench } from './processes.ts';
import { type Benchmark, needing, type Row } from './row.ts';
import { inTemporaryFolder } from './temporary-folder.ts';
import { medianTimesMs, seconds, timedMs } from './timing.ts';
import { sized } from './size.ts';

const NIGHTS = sized(365, 3);
const ROUNDS = sized(7, 1);
const WHAT = 'the report of 72 cells by 365 nights opens';

/** A year of nights as one HTML file: how large it is, and how long a browser takes until all of it is drawn. */
export const htmlReport: Benchmark = { name: 'report', run: () => inTemporaryFolder(measure) };

async function measure(folder: string): Promise<Row[]> {
  const db = join(folder, 'year.sqlite');
  const file = join(folder, 'report.html');
  makeLargeStore(db, NIGHTS);
  addSamplesAndLayers(db);
  // Not in a clone: the sweeps of this store are of no branch.
  const { wallMs } = await bench(['report', '--html', file, '--db', db], { cwd: folder });
  const megabytes = statSync(file).size / 1e6;
  const made = { kind: 'measured', against: '', theirs: '' } as const;
  return [
    {
      ...made,
      what: 'bench report --html, 72 cells by 365 nights, five runs each, layers and samples',
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
    needing([{ name: 'chromium', apt: 'chromium', path: CHROMIUM }], WHAT, '') ?? (await openRow(file)),
  ];
}

const QUERIES = 1200;
const LAYERS = 190;

/** To every cell: samples of the newest night, and a profile of each of the last two. All numbers are made up. */
export function addSamplesAndLayers(path: string): void {
  const db = new Database(path);
  keepChecksums(db);
  const newest = db.prepare('select sweep_id from sweeps order by started_at desc limit 2').pluck();
  const [last, before] = newest.all();
  const computeMs = Float64Array.from({ length: QUERIES }, (_, query) => 0.5 + 1e-5 * ((query * query) % 97));
  db.prepare('update samples set count = ?, data = ? where run_id in (select run_id from runs where sweep_id = ?)').run(
    QUERIES,
    encodeSamples({ count: QUERIES, columns: { computeMs } }),
    last,
  );
  const profile = db.prepare(
    'insert into layer_profiles (run_id, iterations, layer_count, data) select run_id, 700, ?, ? from runs where sweep_id = ? and repeat = 1 and cell_key = ?',
  );
  const cells = db.prepare('select cell_key, model from cells').raw().all();
  for (const [place, row] of cells.entries()) {
    const [key, model] = Array.isArray(row) ? row.map(String) : [];
    for (const [night, sweepId] of [last, before].entries()) {
      profile.run(LAYERS, layersOf(model ?? '', place + 7 * night), sweepId, key);
    }
  }
  db.close();
}

function layersOf(model: string, seed: number): Buffer {
  const names = Array.from(
    { length: LAYERS },
    (_, index) => `/${model}/blocks.${index % 12}/attention.${index}/MatMul + Add ${index}`,
  );
  return encodeLayers({
    profile: names.map((name, index) => {
      const averageMs = 1e-3 * (1 + ((index * 31 + seed) % 60));
      return { index, name, timeMs: 700 * averageMs, averageMs, medianMs: averageMs, percentage: 0.5 };
    }),
    layers: names.map((name, index) => ({
      index,
      name,
      type: 'gemm',
      tactic: `sm90_xmma_gemm_f16f16_tilesize128x${(index + seed) % 64}_stage4_warpsize2x2x1`,
      inputs: [],
      outputs: [],
      origins: [name.split(' ')[0] ?? name],
    })),
  });
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
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
      const isDrawn: unknown = await page.evaluate(`document.querySelector('#cell .trend') !== null`);
      if (isDrawn !== true) throw new Error('the page drew no trend');
    });
  } finally {
    await page.close();
  }
}
