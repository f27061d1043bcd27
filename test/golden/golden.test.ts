import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import stringWidth from 'string-width';
import { beforeAll, describe, expect, test } from 'vitest';

import { bench, ROOT, sharedFolder } from '../support/bench.ts';
import { settled } from '../support/settled.ts';
import { storeIn } from '../support/made-stores.ts';
import { recordProfiles, simulateHistory } from './stores.ts';

const WIDTHS = [60, 80, 120, 200];
/** `UPDATE_GOLDEN=1` writes what the commands print instead of comparing it. Look at the difference. */
const IS_UPDATE = process.env['UPDATE_GOLDEN'] === '1';

/** A command line of each scene; `RUN` is the newest run. */
type Scenes = Readonly<Record<string, readonly string[]>>;

const NIGHTS: Scenes = {
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
  const golden = existsSync(path) ? readFileSync(path, 'utf8') : `no file ${name}.txt`;
  return { text, golden, faults };
}

describe.each([
  { of: 'two recorded nights', scenes: NIGHTS, fill: (folder: string) => storeIn(folder, 'nights') },
  { of: 'a recorded pair', scenes: PAIR, fill: (folder: string) => storeIn(folder, 'pairs') },
  { of: 'a recorded pair with its layers', scenes: PROFILES, fill: recordProfiles },
  { of: 'a simulated history', scenes: HISTORY, fill: simulateHistory },
])('$of', ({ scenes, fill }) => {
  let folder: string;
  beforeAll(async () => {
    folder = sharedFolder();
    await fill(folder);
  }, 120_000);

  test.each(Object.entries(scenes))('%s', async (name, args) => {
    const words: string[] = [];
    for (const word of args) words.push(word === 'RUN' ? await newestRun(folder) : word);
    const { text, golden, faults } = withGolden(name, await pictured(words, folder));
    expect(text).toBe(golden);
    expect(faults).toEqual([]);
  });
});

describe('the end of a run', () => {
  test('run', async () => {
    const folder = sharedFolder();
    cpSync(join(ROOT, 'matrices'), join(folder, 'matrices'), { recursive: true });
    const forget = () => rmSync(join(folder, 'bench.sqlite'), { force: true });
    const { text, golden, faults } = withGolden(
      'run',
      await pictured(['run', 'matrices/quickstart-pair.yaml'], folder, forget),
    );
    expect(text).toBe(golden);
    expect(faults).toEqual([]);
  });
});

async function newestRun(cwd: string): Promise<string> {
  const { stdout } = await bench(['show', CELL, '--json'], { cwd });
  const { runs } = JSON.parse(stdout);
  return runs[0].runId;
}
