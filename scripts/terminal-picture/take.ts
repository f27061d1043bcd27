import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { settled } from '../../test/support/settled.ts';
import { PLAIN, readAnsi, type Span } from './ansi.ts';
import type { Scene } from './scenes.ts';
import { drawPicture } from './svg.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const COLUMNS = 100;
const GIT_IDENTITY = ['-c', 'user.name=Docs', '-c', 'user.email=docs@example.com'];

/** Plays a scene in a checkout of its own, and draws what it printed; ids and dates are settled, the rest is as it was. */
export function takePicture(scene: Scene): string {
  const cwd = mkdtempSync(join(tmpdir(), 'bench-picture-'));
  try {
    cpSync(join(ROOT, 'matrices'), join(cwd, 'matrices'), { recursive: true });
    play(['git', 'init', '--quiet', '--initial-branch=main'], cwd);
    play(['git', 'commit', '--quiet', '--allow-empty', '--message', 'first'], cwd);
    for (const command of scene.before) play(command, cwd);
    const seen = new Map<string, string>();
    const lines = scene.shown.flatMap((command, index) => [
      ...(index === 0 ? [] : [[]]),
      [{ ...PLAIN, bold: true, text: `$ ${command.map(quoted).join(' ')}` }],
      ...withoutEnd(readAnsi(play(command, cwd)).map((line) => settledLine(line, cwd, seen))),
    ]);
    return drawPicture({ title: scene.title, columns: COLUMNS, lines });
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

function play([program, ...args]: readonly string[], cwd: string): string {
  const isGit = program === 'git';
  const { status, stdout, stderr } = spawnSync(
    isGit ? 'git' : process.execPath,
    isGit ? [...GIT_IDENTITY, ...args] : [join(ROOT, 'bin', 'bench.js'), ...args],
    {
      cwd,
      encoding: 'utf8',
      env: {
        ...process.env,
        COLUMNS: `${COLUMNS}`,
        FORCE_COLOR: '1',
        NO_COLOR: '',
        BENCH_DB: join(cwd, 'bench.sqlite'),
        BENCH_LOCK_DIR: join(cwd, 'locks'),
      },
    },
  );
  // 1 is an answer: something is slower.
  if (status !== 0 && status !== 1) throw new Error(`${args.join(' ')}: ${stderr}`);
  return stdout;
}

function settledLine(line: readonly Span[], cwd: string, seen: Map<string, string>): Span[] {
  return line.map((span) => ({ ...span, text: settled(span.text, cwd, seen) }));
}

function withoutEnd(lines: readonly Span[][]): Span[][] {
  return lines.slice(0, lines.findLastIndex((line) => line.length > 0) + 1);
}

function quoted(word: string): string {
  return /^[\w./~:=-]+$/.test(word) ? word : `'${word}'`;
}
