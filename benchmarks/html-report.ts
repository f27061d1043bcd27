import { statSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import type { Browser, Page } from 'puppeteer-core';

import { encodeLayers, encodeSamples } from '../src/store/runs/blob-codecs.ts';
import { CHROMIUM, fileUrl, startChromium } from '../test/support/browser.ts';
import { makeLargeStore } from './large-store.ts';
import { bench } from './processes.ts';
import { absolute, type Benchmark, needing, type Row } from './row.ts';
import { inTemporaryFolder, medianTimesMs, sized, timedMs } from './timing.ts';

const SWEEPS = sized(365, 3);
const ROUNDS = sized(7, 1);
const WHAT = 'the report of 72 cells by 365 sweeps opens';

/**
 * A year of nightly sweeps as one HTML file: how large it is, how long a browser takes until all of it is drawn, and how
 * often it then draws the trend chart.
 */
export const htmlReport: Benchmark = { name: 'report', run: () => inTemporaryFolder(measure) };

async function measure(folder: string): Promise<Row[]> {
  const db = join(folder, 'year.sqlite');
  const file = join(folder, 'report.html');
  makeLargeStore(db, SWEEPS);
  addSamplesAndLayers(db);
  // Not in a clone: the sweeps of this store are of no branch.
  const { wallMs } = await bench(['report', '--html', file, '--db', db], { cwd: folder });
  return [
    absolute('bench report --html, 72 cells by 365 sweeps, five runs each, layers and samples', wallMs / 1000, ' s', {
      atMost: 2,
    }),
    absolute('the file', statSync(file).size / 1e6, ' MB', { atMost: 2 }),
    ...(await browserRows(file)),
  ];
}

const QUERIES = 1200;
const LAYERS = 190;

/** In the last six sweeps one precision is 5 % slower. */
function slowDown(db: Database.Database): void {
  const runs = `run_id in (select run_id from runs join cells using (cell_key) where precision = 'fp8' and sweep_id in
    (select sweep_id from sweeps order by started_at desc limit 6))`;
  db.exec(`update measurements set gpu_compute_centre_ms = gpu_compute_centre_ms * 1.05,
    latency_centre_ms = latency_centre_ms * 1.05, throughput_qps = throughput_qps / 1.05 where ${runs}`);
  db.exec(`update time_statistics set median_ms = median_ms * 1.05, mean_ms = mean_ms * 1.05,
    percentiles = json_object('99', 1.05 * json_extract(percentiles, '$."99"')), max_ms = max_ms * 1.05 where ${runs}`);
}

/** To every cell: samples of the newest night, and a profile of each of the last two; half of them get slower. All numbers are made up. */
function addSamplesAndLayers(path: string): void {
  const db = new Database(path);
  slowDown(db);
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

async function browserRows(file: string): Promise<Row[]> {
  const missing = needing([{ name: 'chromium', apt: 'chromium', path: CHROMIUM }], WHAT, '');
  if (missing !== null) return [missing];
  const browser = await startChromium();
  try {
    const { open } = await medianTimesMs({ open: () => openMs(browser, file) }, ROUNDS);
    const rows = [absolute(WHAT, open / 1000, ' s', { atMost: 1 })];
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    await page.goto(fileUrl(file));
    await page.evaluate(`document.querySelector('#cells-table tbody a').click()`);
    await page.waitForSelector('#cell .stage');
    for (const [what, event] of Object.entries(GESTURES)) {
      const rate = await framesPerS(page, event);
      rows.push(absolute(`frames a second while the trend chart ${what}`, rate, '', { atLeast: 30 }));
    }
    return rows;
  } finally {
    await browser.close();
  }
}

const FRAMES = sized(120, 4);

/** What happens in every frame, the `frame`-th. */
const GESTURES = {
  zooms: `new WheelEvent('wheel', { deltaY: frame % 20 < 10 ? -1 : 1, ctrlKey: true, cancelable: true })`,
  pans: `new KeyboardEvent('keydown', { shiftKey: true, key: ['0', '+', '+', '+', 'Home'][frame] ?? (frame % 70 < 40 ? 'ArrowRight' : 'ArrowLeft') })`,
};

/** One gesture a frame, as fast as the browser draws them; it draws 60 a second at most. */
async function framesPerS(page: Page, event: string): Promise<number> {
  const ms: unknown = await page.evaluate(`new Promise((done) => {
    const stage = document.querySelector('#cell .stage');
    const start = performance.now();
    let frame = 0;
    const next = () => {
      if (frame === ${FRAMES}) return done(performance.now() - start);
      stage.dispatchEvent(${event});
      frame += 1;
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  })`);
  return (1000 * FRAMES) / Number(ms);
}

/** From the address to the frame after the page's script has drawn everything. */
async function openMs(browser: Browser, file: string): Promise<number> {
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 900 });
  try {
    return await timedMs(async () => {
      await page.goto(fileUrl(file));
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
      const isDrawn: unknown = await page.evaluate(`document.querySelector('.first-chart .trend') !== null`);
      if (isDrawn !== true) throw new Error('the page drew no trend');
    });
  } finally {
    await page.close();
  }
}
