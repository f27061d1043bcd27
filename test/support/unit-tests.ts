import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const TESTS = join(import.meta.dirname, '..');

/** Code that starts processes, or waits for them, without a word of it in the test; and tests of half a minute. */
const NO_UNIT_TESTS = `cli docs golden machine pins process run scripts security store tools/git
  tools/nvidia-smi/nvidia-smi engines/ features/check/notify judge/history/targets features/why/cases`.split(/\s+/);

/** What starts a process: `bench`, a program or a browser. */
const STARTS =
  /import \{[^}]*\b(?:bench|benchProcess|startBench)\b[^}]*\} from '[^']*\/bench\.ts'|'node:child_process'|'puppeteer-core'/;

/** Test files that start no process, nor does what they import from `test/`. */
export function unitTests(): string[] {
  const all = readdirSync(TESTS, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.test.ts'));
  const known = new Map<string, boolean>();
  return all
    .filter(
      (path) => !NO_UNIT_TESTS.some((start) => path.startsWith(start)) && !startsProcesses(join(TESTS, path), known),
    )
    .map((path) => `test/${path}`)
    .toSorted();
}

function startsProcesses(path: string, known: Map<string, boolean>): boolean {
  const found = known.get(path);
  if (found !== undefined) return found;
  known.set(path, false);
  const text = readFileSync(path, 'utf8');
  const imported = [...text.matchAll(/ from '(\.[^']*\.ts)'/g)].map(([, file = '']) => join(dirname(path), file));
  const inTests = imported.filter((file) => file.startsWith(TESTS) && !file.endsWith('/support/bench.ts'));
  const starts = STARTS.test(text) || inTests.some((file) => startsProcesses(file, known));
  known.set(path, starts);
  return starts;
}
