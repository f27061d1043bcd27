import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { Outcome } from '../../src/records/outcome.ts';
import { printable } from '../../src/text/printable.ts';
import { type Comparison, differs } from './facts.ts';
import { readText } from './text.ts';

/** This many differences of one run are printed: one misread table would be thousands of lines. */
const MAX_DIFFERENCES = 20;
const ENDINGS = /(?:\.(?:log|txt|out))?(?:\.(?:gz|zst|br))?$/;
const EXPECTED = 'expected.tsv';

/** What was looked at, and what was wrong. */
export class Report {
  /** A line each: `PATH:LINE: what`. */
  readonly problems: string[] = [];
  /** Paths of all logs that were read. */
  readonly read = new Set<string>();
  readonly counts = { measured: 0, built: 0, failed: 0, unfit: 0 };
  logs = 0;
  numbers = 0;
  samples = 0;
  quotedLines = 0;
  private expectations = 0;
  /** Outcomes of the runs of each source, as `kind` or `kind:reason`, by path with and without the endings of a log. */
  private readonly outcomes = new Map<string, string[]>();

  get runs(): number {
    return Object.values(this.counts).reduce((sum, runs) => sum + runs, 0);
  }

  /** @param line from 1; 1 also where no single line is at fault */
  add(path: string, line: number, what: string): void {
    this.problems.push(printable(`${path}:${Math.max(1, line)}: ${what}`));
  }

  take(path: string, firstLine: number, { differences, numbers }: Comparison): void {
    this.numbers += numbers;
    for (const { line, what } of differences.slice(0, MAX_DIFFERENCES)) this.add(path, line ?? firstLine, what);
    const more = differences.length - MAX_DIFFERENCES;
    if (more > 0) this.add(path, firstLine, `and ${more} more differences in this run`);
  }

  addOutcome(path: string, kind: Outcome['kind'], reason: string | null): void {
    this.counts[kind] += 1;
    for (const key of new Set([path, path.replace(ENDINGS, '')])) {
      const known = this.outcomes.get(key) ?? [];
      this.outcomes.set(key, [...known, reason === null ? kind : `${kind}:${reason}`]);
    }
  }

  /**
   * Checks every `expected.tsv` below a folder: name of a run next to the file, a tab, and the outcomes that it may have,
   * separated by bars. `-` represents any outcome, as the log alone cannot tell; it must be there anyway.
   */
  async checkExpectations(folder: string): Promise<void> {
    const entries = await readdir(folder, { withFileTypes: true });
    for (const entry of entries) if (entry.isDirectory()) await this.checkExpectations(join(folder, entry.name));
    if (!entries.some((entry) => entry.isFile() && entry.name === EXPECTED)) return;
    const path = join(folder, EXPECTED);
    for (const [index, raw] of ((await readText(path)) ?? '').split('\n').entries()) {
      const line = raw.replace(/\r$/, '');
      if (line.trim() === '') continue;
      const problem = this.rowProblem(line, dirname(path));
      if (problem !== null) this.add(path, index + 1, problem);
      else if (!line.endsWith('\t-')) this.expectations += 1;
    }
  }

  private rowProblem(line: string, folder: string): string | null {
    const [name = '', expected = '', ...more] = line.split('\t');
    if (name === '' || expected === '' || more.length > 0) return differs('row', 'a name, a tab and outcomes', line);
    const found = this.outcomes.get(join(folder, name));
    if (found === undefined) return differs(name, expected, 'no such run');
    const wrong = expected === '-' ? undefined : found.find((outcome) => !expected.split('|').includes(outcome));
    if (wrong === undefined) return null;
    return `${differs(name, expected, wrong)}${wrong === 'measured' ? ', which counts as a measurement' : ''}`;
  }

  summary(): string {
    const { measured, built, failed, unfit } = this.counts;
    return [
      `${count(this.runs, 'run')} in ${count(this.logs, 'log')}: ${measured} measured, ${built} built, ${failed} failed, ${unfit} unfit`,
      `${count(this.numbers, 'number')} and ${count(this.samples, 'sample')} equal`,
      `${count(this.quotedLines, 'quoted line')} found`,
      `${count(this.expectations, 'expectation')} met`,
      count(this.problems.length, 'problem'),
    ].join('; ');
  }
}

function count(number: number, noun: string): string {
  const digits = number.toLocaleString('en-US').replaceAll(',', ' ');
  return `${digits} ${noun}${number === 1 ? '' : 's'}`;
}
