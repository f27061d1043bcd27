/**
 * Takes the pictures of docs/pictures that are no terminal pictures of recorded runs: the terminal over a simulated store
 * (SVG), and its report in a real browser (PNG).
 *
 *     node scripts/pictures.ts        after `npm run build`; the pages need Chromium: apt-get install chromium
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { CHROMIUM, fileUrl, NEEDS_CHROMIUM, startChromium } from '../test/support/browser.ts';
import { writeSimulatedStore } from './pictures/simulated.ts';
import { readAnsi } from './terminal-picture/ansi.ts';
import { drawPicture } from './terminal-picture/svg.ts';

const ROOT = join(import.meta.dirname, '..');
const PICTURES = join(ROOT, 'docs', 'pictures');
const COLUMNS = 80;

interface Shot {
  readonly name: string;
  readonly args: readonly string[];
  /** The first lines only, as a terminal shows. */
  readonly lines?: number;
}

const SHOTS: readonly Shot[] = [
  { name: 'simulated-check', args: ['check'], lines: 40 },
  { name: 'simulated-trend', args: ['trend', '--filter', 'model=vit_small & precision=fp8 & batch=8 & cudaGraph=on'] },
  { name: 'simulated-trend-12', args: ['trend', '--filter', 'model=vit_small'], lines: 40 },
  { name: 'simulated-compare', args: ['compare', 'latest~8', 'latest', '--filter', 'model=vit_small'] },
];

function bench(cwd: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'bin', 'bench.js'), ...args], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, COLUMNS: `${COLUMNS}`, FORCE_COLOR: '1', NO_COLOR: '', BENCH_DB: join(cwd, 'bench.sqlite') },
  });
  // 1 is an answer: something is slower.
  if (status !== 0 && status !== 1) throw new Error(`${args.join(' ')}: ${stderr}`);
  return stdout;
}

function write(name: string, content: string | Uint8Array): void {
  const path = join(PICTURES, name);
  writeFileSync(path, content);
  process.stdout.write(`docs/pictures/${name}: ${statSync(path).size} bytes\n`);
}

function takeTerminal({ name, args, lines: most = Infinity }: Shot, cwd: string): void {
  const command = `$ bench ${args.map((word) => (/^[\w~-]+$/.test(word) ? word : `'${word}'`)).join(' ')}`;
  const printed = bench(cwd, args).trimEnd().split('\n').slice(0, most).join('\n');
  const lines = readAnsi(`\u001b[1m${command}\u001b[22m\n${printed}`);
  const title = `Terminal: bench ${args.join(' ')}, over a simulated store of 48 cells and 60 sweeps.`;
  write(`${name}.svg`, drawPicture({ title, columns: COLUMNS, lines }));
}

async function takePages(cwd: string): Promise<void> {
  bench(cwd, ['report', '--html', 'report.html']);
  const browser = await startChromium();
  try {
    const page = await browser.newPage();
    for (const [width, height] of [
      [1400, 900],
      [390, 844],
    ] as const) {
      for (const value of ['light', 'dark']) {
        await page.setViewport({ width, height });
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);
        await page.goto(fileUrl(join(cwd, 'report.html')));
        write(`simulated-page-${width}-${value}.png`, await page.screenshot({ optimizeForSpeed: false }));
      }
    }
  } finally {
    await browser.close();
  }
}

const folder = mkdtempSync(join(tmpdir(), 'bench-pictures-'));
try {
  writeSimulatedStore(join(folder, 'bench.sqlite'));
  for (const shot of SHOTS) takeTerminal(shot, folder);
  if (CHROMIUM === null) {
    process.stderr.write(`${NEEDS_CHROMIUM}\n`);
    process.exitCode = 3;
  } else await takePages(folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
