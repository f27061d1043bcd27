import { printable } from '../../src/text/printable.ts';

/** One thing that is not as it should be, at a place in a recording. */
export interface Problem {
  readonly path: string;
  /** From 1; 1 also where no single line is at fault. */
  readonly line: number;
  readonly what: string;
}

/** What was looked at, and what was wrong. */
export class Report {
  readonly problems: Problem[] = [];
  readonly outcomes = { measured: 0, built: 0, failed: 0, unfit: 0 };
  logs = 0;
  runs = 0;
  numbers = 0;
  samples = 0;
  quotedLines = 0;
  expectations = 0;

  add(path: string, line: number, what: string): void {
    this.problems.push({ path, line: Math.max(1, line), what });
  }
}

export function problemText({ path, line, what }: Problem): string {
  return printable(`${path}:${line}: ${what}`);
}

export function differs(what: string, expected: unknown, got: unknown): string {
  return `${what} – expected ${shown(expected)}, got ${shown(got)}`;
}

const SHOWN_CHARACTERS = 200;

function shown(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

export function summaryText(report: Report): string {
  const { outcomes, problems } = report;
  return [
    `${count(report.runs, 'run')} in ${count(report.logs, 'log')}: ${outcomes.measured} measured, ${outcomes.built} built, ${outcomes.failed} failed, ${outcomes.unfit} unfit`,
    `${count(report.numbers, 'number')} and ${count(report.samples, 'sample')} equal`,
    `${count(report.quotedLines, 'quoted line')} found`,
    `${count(report.expectations, 'expectation')} met`,
    count(problems.length, 'problem'),
  ].join('; ');
}

function count(number: number, noun: string): string {
  const digits = number.toLocaleString('en-US').replaceAll(',', ' ');
  return `${digits} ${noun}${number === 1 ? '' : 's'}`;
}
