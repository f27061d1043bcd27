import type { RunSource } from '../../src/artefacts/read/discover.ts';
import type { ReadRun } from '../../src/artefacts/read/read-run.ts';
import { readSource } from '../../src/artefacts/read/read-source.ts';
import { outcomeReason } from '../../src/records/outcome.ts';
import { checkExports } from './exports.ts';
import { claimsOf, compareFacts, derivedDifferences, differs } from './facts.ts';
import type { Claims, Comparison, Difference, Facts } from './facts.ts';
import { LogFacts, placeOf } from './log-facts.ts';
import type { Report } from './report.ts';
import { RunFacts } from './run-facts.ts';
import { compareStored, storedDifferences, type StoreReader } from './stored-run.ts';
import { filesOf, type LogFile, logsOf, readLines, readText } from './text.ts';

/** This many `[E]` lines and remarks of one run are kept by the program. */
const KEPT = 100;

/** An error with the place in the program where it arose. */
export function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const place = error.stack?.split('\n').find((line) => line.includes('/src/')) ?? '';
  return `${error.name}: ${error.message} ${/src\/[^)]*/.exec(place)?.[0] ?? ''}`.trim();
}

/** Checks one source; what is found goes to the report. @param seen content of the runs before, of which the first one is stored */
export async function checkSource(
  source: RunSource,
  store: StoreReader | null,
  report: Report,
  seen: Set<string>,
): Promise<void> {
  try {
    const { path } = source;
    const runs = await readSource(source);
    const files = await filesOf(source);
    const logs = logsOf(source, files);
    for (const log of logs) report.read.add(log.path);
    const text = await readFacts(logs, runs);
    const spoken = text.finish();
    // A folder in which nothing was printed is a run that said nothing.
    const texts = spoken.length > 0 ? spoken : runs.slice(0, 1).map(() => new RunFacts(1, null));
    const place = logs[0]?.path ?? path;
    report.logs += 1;
    for (const { outcome } of runs) report.addOutcome(path, outcome.kind, outcomeReason(outcome));
    if (runs[0]?.manifest.logIndex === null && texts.length !== runs.length) {
      report.add(place, 1, differs('runs in this log', texts.length, runs.length));
      return;
    }
    const quotes = compareQuotes(runs, text);
    report.quotedLines += quotes.found;
    report.take(place, 1, quotes);
    const manifest = files.get('run.json');
    const runJson = manifest === undefined ? null : await readText(manifest);
    for (const run of runs) {
      const facts = texts[run.index];
      if (facts === undefined) report.add(place, 1, `no run ${run.index + 1} in this log`);
      else if (facts.overlaps) {
        const isClaimed = run.outcome.kind === 'measured' || run.log.measurement !== null;
        // Of a log that two processes wrote at once no number can be trusted.
        const what = 'a measurement although two processes wrote this log at once';
        if (isClaimed) report.add(place, facts.firstLine, what);
      } else await checkRun(run, facts, runJson, texts.length === 1 ? files : new Map());
    }

    async function checkRun(
      run: ReadRun,
      said: RunFacts,
      json: string | null,
      exported: ReadonlyMap<string, string>,
    ): Promise<void> {
      const add = (what: string): void => report.add(place, said.firstLine, what);
      const facts = said.finish();
      const stored = store?.run(run.manifest.runId ?? run.contentId) ?? null;
      let computeMs: readonly number[] | null = null;
      if (exported.size > 0) {
        const exports = await checkExports(exported, json, facts, run, stored);
        ({ computeMs } = exports);
        report.samples += exports.samples;
        report.numbers += exports.numbers;
        for (const { path: file, what } of exports.problems) report.add(file, 1, what);
      }
      report.take(place, said.firstLine, compareRun(run, facts, computeMs));
      for (const problem of outcomeProblems(run, said, json)) add(problem);
      if (store === null) return;
      if (stored === null) {
        add('this run is not in the store');
        return;
      }
      report.take(place, said.firstLine, { ...compareStored(stored, facts), numbers: 0 });
      if (seen.has(run.contentId)) return;
      seen.add(run.contentId);
      for (const problem of storedDifferences(stored, run)) add(problem);
    }
  } catch (error) {
    report.add(source.path, 1, `cannot be checked: ${problemOf(error)}`);
  }
}

/** Reads the logs again, only as far as the program could read them. */
export async function readFacts(logs: readonly LogFile[], runs: readonly ReadRun[]): Promise<LogFacts> {
  const facts = new LogFacts(new Set(runs.flatMap(quotesOf).map(({ stream, line }) => placeOf(stream, line))));
  for (const { stream, path, name } of logs) {
    const artefacts = runs[0]?.artefacts ?? [];
    const read = name === '' ? artefacts[0] : artefacts.find((artefact) => artefact.name === name);
    await readLines(path, (text, line) => facts.take(stream, text, line), read?.bytes ?? 0);
  }
  return facts;
}

/** Lines of the log that stand in what the program says of a run. */
function quotesOf({ outcome, log }: ReadRun): ReadRun['outcome']['evidence'] {
  return [...outcome.evidence, ...log.errors, ...log.hints, ...log.failures].filter(({ line }) => line > 0);
}

/** The parser's result of one run against the text of its log. */
export function compareRun(
  run: Pick<ReadRun, 'log' | 'derived'>,
  facts: Facts,
  computeMs: readonly number[] | null,
): Comparison {
  const { numbers, differences } = compareFacts(facts, claimsOf(run));
  return { numbers, differences: [...differences, ...derivedDifferences(facts, computeMs, run.derived)] };
}

/** What a measurement must at least be, by the text and `run.json` alone. */
function outcomeProblems(run: ReadRun, text: RunFacts, runJson: string | null): string[] {
  if (run.outcome.kind !== 'measured') return [];
  const exit = /"exit_?[cC]ode"\s*:\s*(-?\d+)/.exec(runJson ?? '')?.[1];
  const hasNone = !text.isMeasured && !run.log.build.inferenceSkipped && run.log.profile === null;
  return [
    ...(exit !== undefined && exit !== '0' ? [`a measurement although it exited with ${exit}`] : []),
    ...(text.closing === 'FAILED' ? ['a measurement although its log says FAILED'] : []),
    ...(text.marked && text.closing === null ? ['a measurement although its log is cut'] : []),
    ...(hasNone ? ['a measurement without a performance summary'] : []),
  ];
}

/** Lines that the program quotes stand in the log, and remarks and errors of the log are known to the program. */
export function compareQuotes(runs: readonly ReadRun[], text: LogFacts): Comparison & { readonly found: number } {
  const differences: Difference[] = [];
  let found = 0;
  for (const quote of runs.flatMap(quotesOf)) {
    const line = text.quoted.get(placeOf(quote.stream, quote.line));
    if (line?.includes(quote.text) === true) found += 1;
    else differences.push({ line: quote.line, what: differs('quoted line', line, quote.text) });
  }
  const claims: Claims = new Map();
  for (const { log } of runs) {
    for (const { stream, line, text: error } of log.errors) claims.set(`error ${placeOf(stream, line)}`, error);
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
