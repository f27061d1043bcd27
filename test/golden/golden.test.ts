import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import stringWidth from 'string-width';
import { beforeAll, describe, expect, test } from 'vitest';

import { bench, ROOT, sharedFolder } from '../support/bench.ts';
import { storeIn } from '../support/made-stores.ts';
import { settled } from '../support/settled.ts';
import { normals, simulatedCells, simulateNights } from '../support/simulated-store.ts';

/** Of two engines of one model, tuned for other batches: the cell whose layers were recorded. Engines are named with their folder. */
async function recordProfiles(folder: string): Promise<void> {
  cpSync(join(ROOT, 'matrices'), join(folder, 'matrices'), { recursive: true });
  for (const name of ['quickstart-pair', 'quickstart-pair-opt32']) {
    await mustRun(['run', `matrices/${name}.yaml`, '--profile', '--filter', 'batch=8'], folder);
  }
}

const CELLS = 6;
const BETWEEN_SWEEPS = 24;
const FIRST_SLOW_NIGHT = 20;

/**
 * Nights of made-up results, in which all that a gate tells of happens: a new driver, a cell in two states, FP8 that gets
 * slower, a cell that fails in the last night.
 */
function simulateHistory(folder: string): void {
  const normal = normals(7);
  simulateNights(join(folder, 'bench.sqlite'), {
    cells: simulatedCells(CELLS),
    nights: BETWEEN_SWEEPS,
    repeats: 4,
    driver: (night) => (night < 10 ? '580.1' : '580.2'),
    wallS: (cell) => 10 + cell,
    value: (cell, night, repeat) => {
      if (cell === 4 && night === BETWEEN_SWEEPS - 1) return null;
      const isSlow = cell % 2 === 1 && night >= FIRST_SLOW_NIGHT;
      const factor = (isSlow ? 1.06 + 0.02 * cell : 1) * (cell === 2 && (3 * night + repeat) % 4 === 0 ? 1.04 : 1);
      return (0.5 + 0.3 * cell) * Math.exp(0.003 * normal()) * factor;
    },
  });
}

async function mustRun(args: readonly string[], cwd: string): Promise<void> {
  const { code, stderr } = await bench(args, { cwd });
  if (code !== 0) throw new Error(`bench ${args.join(' ')}: exit code ${code}: ${stderr}`);
}

const WIDTHS = [60, 80, 120, 200];
/** `UPDATE_GOLDEN=1` writes what the commands print instead of comparing it. Look at the difference. */
const IS_UPDATE = process.env['UPDATE_GOLDEN'] === '1';

/** A command line of each scene; `RUN` is the newest run. */
type Scenes = Readonly<Record<string, readonly string[]>>;

const GOLDEN_NIGHTS: Scenes = {
  'show-sweep': ['show', 'latest'],
  'show-map': ['show', 'latest', '--map'],
  'compare-map-unclear': ['compare', 'latest~1', 'latest', '--map'],
  'compare-unclear': ['compare', 'latest~1', 'latest'],
  'trend-table': ['trend'],
  cells: ['ls', 'cells'],
  sweeps: ['ls', 'sweeps'],
  pareto: ['choose'],
  slo: ['choose', '--max-latency', '2'],
  'noise-unknown': ['noise'],
};

const CELL = 'model=vit_small & batch=8';
const PAIR: Scenes = {
  'show-cell': ['show', CELL],
  compare: ['compare', 'latest~1', 'latest'],
  'compare-cell': ['compare', 'latest~1', 'latest', '--filter', CELL],
  upgrade: ['report', '--upgrade', 'latest~1', 'latest'],
  machines: ['ls', 'machines'],
  trend: ['trend', CELL],
  'trend-together': ['trend', '--together'],
  noise: ['noise'],
  'why-options': ['why', CELL, 'latest~1', 'latest'],
};

const PROFILES: Scenes = {
  'show-run': ['show', 'RUN'],
  layers: ['layers', CELL],
  'layers-by-block': ['layers', CELL, '--group-by', 'block'],
  'layers-diff': ['layers', CELL, '--diff', 'latest~1', 'latest'],
  why: ['why', CELL, 'latest~1', 'latest'],
};

const HISTORY: Scenes = {
  check: ['check'],
  'trend-history': ['trend', 'precision=fp8 & batch=2'],
  'trend-history-table': ['trend'],
  'noise-history': ['noise'],
  'show-failed': ['show', 'latest'],
  'compare-history': ['compare', 'latest~6', 'latest'],
  'compare-map': ['compare', 'latest~6', 'latest', '--map'],
  'show-map-failed': ['show', 'latest', '--map'],
};

/** What is copied is not cut: a command line, a folder. */
const WHOLE = /^(?:trtexec |  kept in  )/;

interface Pictures {
  readonly text: string;
  /** Lines that a terminal would wrap, and what else a scene should not say. */
  readonly faults: readonly string[];
}

/** What it prints at each width, one below the other. */
async function pictured(args: readonly string[], cwd: string, before: () => void = () => undefined): Promise<Pictures> {
  const pictures: string[] = [];
  const faults: string[] = [];
  for (const columns of WIDTHS) {
    before();
    const { code, stdout, stderr } = await bench(args, { cwd, env: { COLUMNS: String(columns) } });
    if (stdout === '') faults.push(`nothing was printed: ${stderr}`);
    for (const line of stdout.split('\n')) {
      if (stringWidth(line) > columns && !WHOLE.test(line)) faults.push(`wider than ${columns}: ${line}`);
    }
    const command = args.map((word) => (/[ &]/.test(word) ? `'${word}'` : word)).join(' ');
    pictures.push(`$ bench ${command}    # ${columns} columns, exit code ${code}\n${stdout}`);
  }
  return { text: settled(pictures.join('\n'), cwd).replaceAll(/took .*/g, 'took 366 ms'), faults };
}

/** With the text that the file of this name holds; an update writes it first. */
function withGolden(name: string, { text, faults }: Pictures) {
  const path = join(import.meta.dirname, `${name}.txt`);
  if (IS_UPDATE) writeFileSync(path, text);
  return { text, golden: existsSync(path) ? readFileSync(path, 'utf8') : `no file ${name}.txt`, faults };
}

describe.each([
  { of: 'two recorded nights', scenes: GOLDEN_NIGHTS, fill: (folder: string) => storeIn(folder, 'nights') },
  { of: 'a recorded pair', scenes: PAIR, fill: (folder: string) => storeIn(folder, 'pairs') },
  { of: 'a recorded pair with its layers', scenes: PROFILES, fill: recordProfiles },
  { of: 'a simulated history', scenes: HISTORY, fill: simulateHistory },
])('$of', ({ scenes, fill }) => {
  const folder = sharedFolder();
  beforeAll(async () => await fill(folder), 120_000);

  test.each(Object.entries(scenes))('%s', async (name, args) => {
    const words: string[] = [];
    for (const word of args) words.push(word === 'RUN' ? await newestRun(folder) : word);
    const { text, golden, faults } = withGolden(name, await pictured(words, folder));
    expect({ text, faults }).toEqual({ text: golden, faults: [] });
  });
});

test('the end of a run: run', async () => {
  const folder = sharedFolder();
  cpSync(join(ROOT, 'matrices'), join(folder, 'matrices'), { recursive: true });
  const forget = () => rmSync(join(folder, 'bench.sqlite'), { force: true });
  const { text, golden, faults } = withGolden(
    'run',
    await pictured(['run', 'matrices/quickstart-pair.yaml'], folder, forget),
  );
  expect({ text, faults }).toEqual({ text: golden, faults: [] });
});

const newestRun = async (cwd: string): Promise<string> =>
  JSON.parse((await bench(['show', CELL, '--json'], { cwd })).stdout).runs[0].runId;
