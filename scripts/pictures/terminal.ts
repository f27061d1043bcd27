import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { settled } from '../../test/support/settled.ts';
import { PLAIN, readAnsi } from './ansi.ts';
import type { Scene } from './scenes.ts';
import { writeSimulatedStore } from './simulated.ts';
import { drawPicture } from './svg.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const GIT_IDENTITY = ['-c', 'user.name=Docs', '-c', 'user.email=docs@example.com'];

/** Plays a scene in a folder of its own, and draws what it printed as an SVG; recorded runs' ids and dates of today are settled. */
export function takePicture(scene: Scene): string {
  const cwd = mkdtempSync(join(tmpdir(), 'bench-picture-'));
  try {
    prepare(scene, cwd);
    for (const command of scene.before) play(command, cwd, scene.columns);
    const seen = new Map<string, string>();
    // Ids and dates of a simulated store are the same each time, and those of the pictures of its page.
    const settle = (text: string): string => (scene.at === 'simulated' ? text : settled(text, cwd, seen));
    const lines = scene.shown.flatMap((command, index) => [
      ...(index === 0 ? [] : [[]]),
      [{ ...PLAIN, bold: true, text: `$ ${command.map(quoted).join(' ')}` }],
      ...readAnsi(play(command, cwd, scene.columns).trim())
        .slice(0, scene.lines)
        .map((line) => line.map((span) => ({ ...span, text: settle(span.text) }))),
    ]);
    return drawPicture({ title: scene.title, columns: scene.columns, lines });
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

function prepare({ at, columns }: Scene, cwd: string): void {
  const copied = at === 'clone' ? ['bin', 'dist', 'scripts', 'matrices', 'package.json'] : ['matrices'];
  for (const name of copied) cpSync(join(ROOT, name), join(cwd, name), { recursive: true });
  if (at === 'simulated') writeSimulatedStore(join(cwd, 'bench.sqlite'));
  else if (at === 'clone') for (const name of LINKED) symlinkSync(join(ROOT, name), join(cwd, name));
  else {
    play(['git', 'init', '--quiet', '--initial-branch=main'], cwd, columns);
    play(['git', 'commit', '--quiet', '--allow-empty', '--message', 'first'], cwd, columns);
  }
}

/** What bench only reads in its clone. */
const LINKED = ['migrations', 'recordings', 'python', 'node_modules'];

/** The program for what a person types, and its first arguments. */
function programOf([name, ...args]: readonly string[], cwd: string): [string, ...string[]] {
  if (name === 'git') return ['git', ...GIT_IDENTITY, ...args];
  if (name === 'npm') return [process.execPath, join(cwd, 'scripts', 'quickstart.mjs')];
  return [process.execPath, join(ROOT, 'bin', 'bench.js'), ...args];
}

function play(command: readonly string[], cwd: string, columns: number): string {
  const [program, ...args] = programOf(command, cwd);
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: {
      ...process.env,
      COLUMNS: `${columns}`,
      FORCE_COLOR: '1',
      NO_COLOR: '',
      BENCH_DB: join(cwd, 'bench.sqlite'),
      BENCH_LOCK_DIR: join(cwd, 'locks'),
    },
  });
  // 1 is an answer: something is slower.
  if (status !== 0 && status !== 1) throw new Error(`${command.join(' ')}: ${stderr}`);
  return stdout;
}

function quoted(word: string): string {
  return /^[\w./~:=-]+$/.test(word) ? word : `'${word}'`;
}
