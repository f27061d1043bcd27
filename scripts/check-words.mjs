// Words that the glossary of CONTRIBUTING.md replaces must not come back: in names, help, messages, comments and documents.
// node scripts/check-words.mjs [FILE...]: without files, all that is the project's own text.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const PLACES = ['src', 'bin', 'docs', 'matrices', 'scripts', 'README.md', 'CONTRIBUTING.md'];
const THIS = join(ROOT, 'scripts/check-words.mjs');

/** Each with what to say instead. */
const WORDS = {
  told: 'reported, listed, passed',
  alike: 'equal, similar, comparable',
  'wish(?:es)?': 'request, policy',
  lone: 'standalone, single',
  barred: 'ineligible',
  'shelf|shelves': 'cache',
  'lanes?': 'worker',
  tonight: 'the newest sweep, the latest',
  beside: 'next to, with, during, besides',
  stands: 'is, represents, matches',
  'so many': 'number of, at most N',
  'all the same': 'anyway, all equal',
  'what of': 'which of, the part of',
  // What a replacement of words leaves that ran twice.
  [String.raw`([a-z]+ [a-z]+ [a-z]+) \1`]: 'it once',
};

/** Names in stored files and in `--json`, which stay as they are. */
const KEPT = [
  // findings of stores (a column), and the outputs of `check` and `db rejudge`
  /told(?:Today|Then)?SweepId|told_sweep_id/g,
  // a key of run.json
  /(?<=[.{,'] ?)lone(?=['?.:])|(?<=^ *)lone(?=: \w+\.)/gm,
  // operators of ONNX
  /ReduceLogSum/g,
  // the id of a flag of runs
  /loneOutlier/g,
  // an effect of flags in stores, and a key of the output of `trend`
  /(?<=['`(])barred(?=['`)])|(?<=[{,] )barred(?=:| })|(?<=^ *)barred(?=: z)|barred(?=\.(?:length|map))/gm,
];

function filesIn(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path).flatMap((name) => filesIn(join(path, name)));
}

/** Names fall into words. What a program printed in a document is not ours to word: its lines are left empty. */
function wordsOf(file) {
  let text = readFileSync(file, 'utf8');
  if (file.endsWith('.md'))
    text = text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, (block) => block.replaceAll(/[^\n]/g, ''));
  for (const kept of KEPT) text = text.replaceAll(kept, '');
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]/g, ' ')
    .toLowerCase();
}

const named = process.argv.slice(2);
const files = named.length > 0 ? named : PLACES.flatMap((place) => filesIn(join(ROOT, place)));
const all = new RegExp(
  Object.keys(WORDS)
    .map((word) => `\\b(?:${word.replaceAll(' ', String.raw`\s+(?:\*\s+|//\s+)?`)})\\b`)
    .join('|'),
  'g',
);
for (const file of files) {
  if (file === THIS || !/\.(?:ts|mjs|js|md|yaml|css)$/.test(file)) continue;
  const text = wordsOf(file);
  for (const match of text.matchAll(all)) {
    const used = match[0].replaceAll(/\s+(?:\*\s+|\/\/\s+)?/g, ' ');
    const line = text.slice(0, match.index).split('\n').length;
    const instead = Object.entries(WORDS).find(([word]) => new RegExp(`^(?:${word})$`).test(used))?.[1];
    process.stderr.write(
      `${file.replace(`${ROOT}/`, '')}:${line}: "${used}": say ${instead} (glossary in CONTRIBUTING.md)\n`,
    );
    process.exitCode = 1;
  }
}
