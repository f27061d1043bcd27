import type { ReadRun } from '../../src/artefacts/read/read-run.ts';
import { type Claims, claimsOf } from './claims.ts';
import { compareFacts, type Difference } from './compare-facts.ts';
import { derivedDifferences } from './derived-claims.ts';
import type { Facts } from './facts.ts';
import { type LogFacts, placeOf } from './log-facts.ts';
import { differs } from './report.ts';
import type { RunFacts } from './run-facts.ts';
import { quotesOf } from './source-text.ts';

/** This many `[E]` lines and remarks of one run are kept by the program. */
const KEPT = 100;

/** The parser's result of one run against the text of its log. */
export function compareRun(
  run: Pick<ReadRun, 'log' | 'derived'>,
  facts: Facts,
  computeMs: readonly number[] | null,
): { readonly numbers: number; readonly differences: readonly Difference[] } {
  const { numbers, differences } = compareFacts(facts, claimsOf(run));
  const derived = derivedDifferences(facts, computeMs, run.derived);
  return { numbers, differences: [...differences, ...derived.map((what) => ({ line: null, what }))] };
}

/** What a measurement must at least be, by the text and `run.json` alone. */
export function outcomeProblems(run: ReadRun, text: RunFacts, runJson: string | null): string[] {
  if (run.outcome.kind !== 'measured') return [];
  const exit = /"exit_?[cC]ode"\s*:\s*(-?\d+)/.exec(runJson ?? '')?.[1];
  const problems: string[] = [];
  if (exit !== undefined && exit !== '0') problems.push(`a measurement although it exited with ${exit}`);
  if (text.closing === 'FAILED') problems.push('a measurement although its log says FAILED');
  if (text.marked && text.closing === null) problems.push('a measurement although its log is cut');
  if (!text.isMeasured && !run.log.build.inferenceSkipped && run.log.profile === null) {
    problems.push('a measurement without a performance summary');
  }
  return problems;
}

/** Of a log that two processes wrote at once no number can be trusted. */
export function overlapProblems({ outcome, log }: ReadRun): string[] {
  const claimed = outcome.kind === 'measured' || log.measurement !== null;
  return claimed ? ['a measurement although two processes wrote this log at once'] : [];
}

/** Lines that the program quotes stand in the log, and remarks and errors of the log are known to the program. */
export function compareQuotes(
  runs: readonly ReadRun[],
  text: LogFacts,
): { readonly found: number; readonly numbers: number; readonly differences: readonly Difference[] } {
  const differences: Difference[] = [];
  let found = 0;
  for (const quote of runs.flatMap(quotesOf)) {
    const line = text.quoted.get(placeOf(quote.stream, quote.line));
    if (line?.includes(quote.text) === true) found += 1;
    else differences.push({ line: quote.line, what: differs('quoted line', line, quote.text) });
  }
  const claims: Claims = new Map();
  for (const { log } of runs) {
    for (const { stream, line, text: error } of log.errors) {
      claims.set(`error ${placeOf(stream, line)}`, error);
    }
    for (const { id, stream, line, value } of log.hints) {
      if (value !== null) claims.set(`${id} ${placeOf(stream, line)}`, value);
    }
  }
  const isCut = runs.some(({ log }) => log.errors.length >= KEPT || log.hints.length >= KEPT);
  const known: Facts = new Map([...text.remarks].filter(([key]) => !isCut || claims.has(key)));
  for (const key of claims.keys()) {
    // Numbers of rarer remarks are proven by the quoted line.
    if (!known.has(key) && !key.startsWith('error ')) claims.delete(key);
  }
  const comparison = compareFacts(known, claims);
  return { found, numbers: comparison.numbers, differences: [...differences, ...comparison.differences] };
}
