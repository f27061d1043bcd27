import { pathToFileURL } from 'node:url';

import axe from 'axe-core';
import { type Browser, type Page, launch } from 'puppeteer-core';

import { onPath } from './on-path.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** `$BENCH_CHROMIUM`, else one on PATH; null where there is none. */
export const CHROMIUM: string | null =
  process.env['BENCH_CHROMIUM'] || (NAMES.map(onPath).find((path) => path !== null) ?? null);

/** What a skipped test needs. */
export const NEEDS_CHROMIUM = 'needs Chromium: apt-get install chromium';

export function startChromium(): Promise<Browser> {
  return launch({
    executablePath: CHROMIUM ?? '',
    // Tests may run as root in a container, where Chromium has no sandbox of its own.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    protocolTimeout: 120_000,
  });
}

/** A page that takes down what must not happen: errors, and requests for anything but itself. */
export type WatchedPage = { readonly page: Page; readonly faults: string[] };

export async function openPage(
  browser: Browser,
  url: string,
  prepare: (page: Page) => Promise<void> = async () => {},
): Promise<WatchedPage> {
  const page = await browser.newPage();
  const faults: string[] = [];
  const [own] = url.split('#');
  page.on('pageerror', (error) => faults.push(`error: ${String(error)}`));
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warn') faults.push(message.text());
  });
  page.on('request', (request) => {
    if (request.url().split('#')[0] !== own) faults.push(`request: ${request.url()}`);
  });
  await page.setViewport({ width: 1280, height: 900 });
  await prepare(page);
  await page.goto(url);
  return { page, faults };
}

export const fileUrl = (path: string, hash = ''): string => pathToFileURL(path).href + hash;

type AxeViolation = { readonly id: string; readonly impact: string | null; readonly nodes: readonly string[] };

/** What axe-core finds, as rule, weight and places. */
export async function axeViolations(page: Page): Promise<AxeViolation[]> {
  await page.evaluate(axe.source);
  const found: unknown = await page.evaluate(
    `axe.run(document).then(({ violations }) => JSON.stringify(violations.map(({ id, impact, nodes }) =>
      ({ id, impact, nodes: nodes.slice(0, 5).map(({ target, failureSummary }) => target.join(' ') + ': ' + failureSummary) }))))`,
  );
  const violations: AxeViolation[] = JSON.parse(String(found));
  return violations;
}
