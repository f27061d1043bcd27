import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { differs, type Report } from './report.ts';
import { readText } from './text-lines.ts';

const NAME = 'expected.tsv';
const ENDINGS = /(?:\.(?:log|txt|out))?(?:\.(?:gz|zst|br))?$/;

/** Outcomes of the runs of each source, as `kind` or `kind:reason`, by path without the endings of a log. */
export class Outcomes {
  private readonly bySource = new Map<string, string[]>();

  add(path: string, outcome: string): void {
    for (const key of new Set([path, path.replace(ENDINGS, '')])) {
      const known = this.bySource.get(key);
      if (known === undefined) this.bySource.set(key, [outcome]);
      else known.push(outcome);
    }
  }

  of(path: string): readonly string[] {
    return this.bySource.get(path) ?? [];
  }
}

/**
 * Checks every `expected.tsv` below a folder: name of a run next to the file, a tab, and the outcomes that it may have,
 * separated by bars. `-` represents any outcome, as the log alone cannot tell; it must be there anyway.
 */
export async function checkExpectations(folder: string, outcomes: Outcomes, report: Report): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const { name } of entries.filter((entry) => entry.isDirectory())) {
    await checkExpectations(join(folder, name), outcomes, report);
  }
  if (entries.some((entry) => entry.isFile() && entry.name === NAME)) {
    await checkTable(join(folder, NAME), outcomes, report);
  }
}

async function checkTable(path: string, outcomes: Outcomes, report: Report): Promise<void> {
  const lines = ((await readText(path)) ?? '').split('\n');
  lines.forEach((raw, index) => {
    const line = raw.replace(/\r$/, '');
    if (line.trim() === '') return;
    const problem = rowProblem(line, dirname(path), outcomes);
    if (problem === null) report.expectations += line.endsWith('\t-') ? 0 : 1;
    else report.add(path, index + 1, problem);
  });
}

function rowProblem(line: string, folder: string, outcomes: Outcomes): string | null {
  const [name = '', expected, ...more] = line.split('\t');
  if (name === '' || expected === undefined || expected === '' || more.length > 0) {
    return differs('row', 'a name, a tab and outcomes', line);
  }
  const found = outcomes.of(join(folder, name));
  if (found.length === 0) return differs(name, expected, 'no such run');
  if (expected === '-') return null;
  const allowed = expected.split('|');
  const wrong = found.find((outcome) => !allowed.includes(outcome));
  if (wrong === undefined) return null;
  const counts = wrong === 'measured' ? ', which counts as a measurement' : '';
  return `${differs(name, expected, wrong)}${counts}`;
}
