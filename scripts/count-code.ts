// Lines of code written by hand, against budget.json: no figure may rise. `--write` lowers the budget to what is there,
// `--reached` prints the lines of src that the commands run, compare, check and trend reach by imports.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';

import ts from 'typescript';

const BUDGET = 'budget.json';
const CODE = /\.(?:ts|js|mjs|py|sh|css|html|sql)$/;
const GIVEN = /^(?:recordings|test\/fixtures|test\/recordings)\//;

/** Of each text, lines that hold code and lines that hold a comment and no code. */
interface Lines {
  readonly code: number;
  readonly comments: number;
}

/** The comments of a language without a parser here; strings that look like one are taken for one. */
const COMMENTS: Readonly<Record<string, RegExp>> = {
  py: /^[ \t]*#.*$|^[ \t]*"""[\s\S]*?"""/gm,
  sh: /^[ \t]*#.*$/gm,
  css: /\/\*[\s\S]*?\*\//g,
  html: /<!--[\s\S]*?-->/g,
  sql: /--.*$/gm,
};

function linesOf(path: string, text: string): Lines {
  const filled = text.split('\n').filter((line) => line.trim() !== '').length;
  const code = /\.(?:ts|js|mjs)$/.test(path) ? linesWithTokens(path, text) : filledLines(path, text);
  return { code, comments: filled - code };
}

function filledLines(path: string, text: string): number {
  const comment = COMMENTS[path.split('.').at(-1) ?? ''];
  const rest = comment === undefined ? text : text.replaceAll(comment, '');
  return rest.split('\n').filter((line) => line.trim() !== '').length;
}

function linesWithTokens(path: string, text: string): number {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const filled = text.split('\n').map((line) => line.trim() !== '');
  const code = new Set<number>();
  const lineAt = (position: number): number => source.getLineAndCharacterOfPosition(position).line;
  const visit = (node: ts.Node): void => {
    // JSDoc is among the children.
    if (node.kind >= ts.SyntaxKind.FirstJSDocNode && node.kind <= ts.SyntaxKind.LastJSDocNode) return;
    const children = node.getChildren(source);
    for (const child of children) visit(child);
    if (children.length > 0 || node.getWidth(source) === 0) return;
    for (let line = lineAt(node.getStart(source)); line <= lineAt(node.getEnd()); line += 1) {
      if (filled[line] === true) code.add(line);
    }
  };
  visit(source);
  return code.size;
}

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((path) => path !== '' && existsSync(path) && !GIVEN.test(path));
const texts = new Map(tracked.filter((path) => CODE.test(path)).map((path) => [path, readFileSync(path, 'utf8')]));
const counted = new Map([...texts].map(([path, text]) => [path, linesOf(path, text)]));

function codeUnder(...folders: string[]): number {
  const under = [...counted].filter(([path]) => folders.some((folder) => path.startsWith(`${folder}/`)));
  return under.reduce((sum, [, { code }]) => sum + code, 0);
}

function wordsOf(paths: readonly string[]): number {
  return paths.reduce((sum, path) => sum + readFileSync(path, 'utf8').split(/\s+/).filter(Boolean).length, 0);
}

const figures: Readonly<Record<string, number>> = {
  'lines of code in src, python, bin and migrations': codeUnder('src', 'python', 'bin', 'migrations'),
  'lines of code in test': codeUnder('test'),
  'lines of code in scripts and benchmarks': codeUnder('scripts', 'benchmarks'),
  'files in src': tracked.filter((path) => path.startsWith('src/')).length,
  'words in docs, without the generated matrix-keys.md': wordsOf(
    tracked.filter((path) => /^docs\/(?!reference\/(?:commands|matrix-keys|outcomes)\.).*\.md$/.test(path)),
  ),
};

/** Files that the entry files import, and what those import. */
function reachedFrom(entries: readonly string[]): Set<string> {
  const reached = new Set<string>();
  const visit = (path: string): void => {
    if (reached.has(path)) return;
    reached.add(path);
    for (const [, to = ''] of (texts.get(path) ?? '').matchAll(/(?:from|import\()\s*'(\.{1,2}\/[^']+)'/g)) {
      const target = join(dirname(path), to);
      if (texts.has(target)) visit(target);
    }
  };
  for (const entry of entries) visit(entry);
  return reached;
}

function printReached(): void {
  const commands = ['run', 'compare', 'check', 'trend'].map((name) => `src/features/${name}/command.ts`);
  const reached = [...reachedFrom(commands)].filter((path) => !/^src\/(?:html|features\/report\/page)\//.test(path));
  const lines = reached.reduce((sum, path) => sum + (counted.get(path)?.code ?? 0), 0);
  process.stdout.write(`${lines} lines in ${reached.length} files reached by run, compare, check and trend\n`);
}

const SHARE_OF_COMMENTS = 0.06;

function problems(budget: Readonly<Record<string, number>>): string[] {
  const src = [...counted].filter(([path]) => path.startsWith('src/'));
  const sum = (of: (lines: Lines) => number): number => src.reduce((total, [, lines]) => total + of(lines), 0);
  const share = sum(({ comments }) => comments) / sum(({ code, comments }) => code + comments);
  return [
    ...Object.entries(figures)
      .filter(([name, value]) => value > (budget[name] ?? 0))
      .map(([name, value]) => `${value} ${name}: the budget is ${budget[name] ?? 0}`),
    ...(share < SHARE_OF_COMMENTS
      ? [`${(share * 100).toFixed(1)} % of the lines of src are comments: 6 % or more`]
      : []),
  ];
}

if (process.argv.includes('--reached')) printReached();
if (process.argv.includes('--write')) writeFileSync(BUDGET, `${JSON.stringify(figures, null, 2)}\n`);
const found = problems(JSON.parse(readFileSync(BUDGET, 'utf8')));
for (const line of found) process.stdout.write(`${line}\n`);
process.exit(found.length === 0 ? 0 : 1);
