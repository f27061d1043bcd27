import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

import { expect, test } from 'vitest';

import { ROOT, temporaryFolder } from '../support/bench.ts';
import { settled } from '../support/settled.ts';
import { type Block, blocksOf, stepsOf } from './markdown.ts';

const IS_UPDATE = process.env['UPDATE_DOCS'] === '1';
/** Outputs longer than this show their first lines and how many more there are. */
const SHOWN = 16;

/** The files that git tracks, of the tests only the models, as a clone has them, and what `npm run quickstart` installs and builds. */
function makeClone(): string {
  const clone = temporaryFolder();
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0');
  for (const path of tracked.filter(
    (name) => name !== '' && !/^(?:test\/(?!fixtures\/onnx\/)|src|benchmarks)\//.test(name),
  )) {
    if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(clone, path));
  }
  cpSync(join(ROOT, 'dist'), join(clone, 'dist'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  return clone;
}

function type(line: string, cwd: string, home: string): { code: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync('bash', ['-O', 'expand_aliases', '-c', line], {
    cwd,
    encoding: 'utf8',
    env: {
      PATH: [dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter),
      HOME: home,
      COLUMNS: '100',
      GIT_CONFIG_NOSYSTEM: '1',
    },
  });
  return { code: status, output: stdout + stderr };
}

function trimmed(text: string): string[] {
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => line.trimEnd());
  return lines.length <= SHOWN + 2 ? lines : [...lines.slice(0, SHOWN), `(${lines.length - SHOWN} more lines)`];
}

test('quickstart and README, typed in a clone: each command works where it stands, and prints what stands there', () => {
  const clone = makeClone();
  const home = temporaryFolder();
  const quickstart = type('node scripts/quickstart.mjs', clone, home);
  expect(quickstart).toMatchObject({ code: 0 });
  const [first = '', end = ''] = quickstart.output.split('\nTry\n');
  const [alias = '', ...tries] = end.split('\n').filter((line) => line.startsWith('  '));
  expect(first.split('\n').slice(0, 24).join('\n')).toContain('2 slower');
  expect(first.split('$ bench compare --db')[1]).toContain('nothing slower');
  // Each is the advice of an output above.
  expect(
    tries.map((line) => [first.includes(`: ${line.trim()}\n`), type(`${alias}\n${line}`, clone, home).code]),
  ).toEqual([
    [true, 0],
    [true, 0],
  ]);

  const path = join(ROOT, 'README.md');
  const lines = readFileSync(path, 'utf8').split('\n');
  const seen = new Map<string, string>();
  const printed = (block: Block): string[] =>
    stepsOf(block.lines).flatMap(({ command }) => {
      const { code, output } = type(`${alias}\n${command}`, clone, home);
      expect([command, code === 0 || code === 1, output]).toEqual([command, true, output]);
      return [`$ ${command}`, ...trimmed(settled(output, clone, seen))];
    });
  const blocks = blocksOf(lines.join('\n')).filter(({ language }) => language === 'console');
  const made = blocks.map((block) => ({ block, lines: printed(block) }));
  if (!IS_UPDATE) expect(made.map((one) => one.lines)).toEqual(blocks.map((block) => [...block.lines]));
  else {
    for (const { block, lines: shown } of made.toReversed())
      lines.splice(block.start, block.end - block.start, ...shown);
    writeFileSync(path, lines.join('\n'));
  }
}, 240_000);

/** What a reader of the tutorial types, up to the matrix for a model of one's own, as one script that prints `CODE COMMAND`. */
function scriptOf(text: string): string[] {
  return blocksOf(text).flatMap(({ language, lines }) => {
    // The test above ran it.
    if (language === 'sh') return lines.filter((line) => line !== 'npm run quickstart');
    const file = /^# (\S+\.yaml)$/.exec(lines[0] ?? '')?.[1];
    if (language === 'yaml' && file !== undefined) return [`cat > ${file} <<'END'`, ...lines, 'END'];
    if (language !== 'console') return [];
    return stepsOf(lines).flatMap(({ command }) => [
      `${command} > output 2>&1`,
      `code=$?; printf '%s %s\\n' $code ${JSON.stringify(command).replaceAll('$', String.raw`\$`)}; (exit $code)`,
    ]);
  });
}

test('the tutorial, typed in a clone and an empty folder: only what shows an error ends with one', () => {
  const home = temporaryFolder();
  writeFileSync(join(home, '.gitconfig'), '[user]\nname = A\nemail = a@example.com\n');
  const [story = '', own = ''] = readFileSync(join(ROOT, 'docs', 'tutorial.md'), 'utf8').split('<!-- from here on');
  const clone = makeClone();
  const { code, output } = type(scriptOf(story).join('\n'), clone, home);
  const codes = output.trimEnd().split('\n');
  expect(code).toBe(0);
  expect(codes.filter((line) => !line.startsWith('0 '))).toEqual([
    "2 bench plan mine.yaml --filter 'bacth=8'",
    '1 bench compare HEAD~1',
    '1 bench report --html report.html',
    '1 bench report --md',
    '1 bench check',
  ]);
  expect(codes.length).toBeGreaterThan(15);
  const first = type(scriptOf(own.slice(0, own.indexOf('### Completion'))).join('\n'), clone, home);
  const expected = ['0 bench init models/vit_tiny.onnx', '0 bench plan matrix.yaml --tensorrt 10.6'];
  expect(first.output.trimEnd().split('\n')).toEqual(expected);
}, 120_000);
