import type { RunSource } from '../../src/artefacts/read/recognise.ts';
import type { ReadRun } from '../../src/artefacts/read/read-run.ts';
import { readSource } from '../../src/artefacts/read/read-source.ts';
import { outcomeReason } from '../../src/records/outcome.ts';
import { checkExports } from './check-exports.ts';
import { compareQuotes, compareRun, outcomeProblems, overlapProblems } from './check-run.ts';
import { compareStored, storedDifferences } from './check-store.ts';
import type { Difference } from './compare-facts.ts';
import type { Outcomes } from './expectations.ts';
import { problemOf } from './problem-of.ts';
import { differs, type Report } from './report.ts';
import { RunFacts } from './run-facts.ts';
import { filesOf, type LogFile, logsOf, readFacts, type SourceFiles } from './source-text.ts';
import type { StoreReader } from './stored-run.ts';
import { readText } from './text-lines.ts';

/** This many differences of one run are printed: one misread table would be thousands of lines. */
const MAX_DIFFERENCES = 20;

/** Checks one source after the other; what is found goes to the report. */
export class SourceCheck {
  private readonly store: StoreReader | null;
  private readonly report: Report;
  private readonly outcomes: Outcomes;
  private readonly read: Set<string>;
  private readonly seen = new Set<string>();

  /** @param read takes the paths of all logs that were read */
  constructor(store: StoreReader | null, report: Report, outcomes: Outcomes, read: Set<string>) {
    this.store = store;
    this.report = report;
    this.outcomes = outcomes;
    this.read = read;
  }

  async run(source: RunSource): Promise<void> {
    try {
      await this.check(source);
    } catch (error) {
      this.report.add(source.path, 1, `cannot be checked: ${problemOf(error)}`);
    }
  }

  private async check(source: RunSource): Promise<void> {
    const { path } = source;
    const runs = await readSource(source);
    const files = await filesOf(source);
    const logs = logsOf(source, files);
    for (const log of logs) this.read.add(log.path);
    const text = await readFacts(logs, runs);
    const spoken = text.finish();
    // A folder in which nothing was printed is a run that said nothing.
    const texts = spoken.length > 0 ? spoken : runs.slice(0, 1).map(() => new RunFacts(1, null));
    const place = logs[0]?.path ?? path;
    this.report.logs += 1;
    this.report.runs += runs.length;
    for (const { outcome } of runs) {
      this.report.outcomes[outcome.kind] += 1;
      const reason = outcomeReason(outcome);
      this.outcomes.add(path, reason === null ? outcome.kind : `${outcome.kind}:${reason}`);
    }
    const isPart = runs[0]?.manifest.logIndex !== null;
    if (!isPart && texts.length !== runs.length) {
      this.report.add(place, 1, differs('runs in this log', texts.length, runs.length));
      return;
    }
    const quotes = compareQuotes(runs, text);
    this.report.quotedLines += quotes.found;
    this.take(place, 1, quotes);
    for (const run of runs) {
      const facts = texts[run.index];
      if (facts === undefined) this.report.add(place, 1, `no run ${run.index + 1} in this log`);
      else await this.checkRun(run, facts, texts.length === 1, files, logs);
    }
  }

  private async checkRun(
    run: ReadRun,
    text: RunFacts,
    isAlone: boolean,
    files: SourceFiles,
    logs: readonly LogFile[],
  ): Promise<void> {
    const place = logs[0]?.path ?? run.path;
    if (text.overlaps) {
      for (const problem of overlapProblems(run)) this.report.add(place, text.firstLine, problem);
      return;
    }
    const manifest = files.get('run.json');
    const runJson = manifest === undefined ? null : await readText(manifest);
    const facts = text.finish();
    const stored = this.store?.run(run.manifest.runId ?? run.contentId) ?? null;
    let computeMs: readonly number[] | null = null;
    if (isAlone && files.size > 0) {
      const exports = await checkExports(files, runJson, facts, run, stored);
      computeMs = exports.computeMs;
      this.report.samples += exports.samples;
      this.report.numbers += exports.numbers;
      for (const { path, what } of exports.problems) this.report.add(path, 1, what);
    }
    this.take(place, text.firstLine, compareRun(run, facts, computeMs));
    for (const problem of outcomeProblems(run, text, runJson)) {
      this.report.add(place, text.firstLine, problem);
    }
    if (this.store === null) return;
    if (stored === null) {
      this.report.add(place, text.firstLine, 'this run is not in the store');
      return;
    }
    const { differences } = compareStored(stored, facts);
    this.take(place, text.firstLine, { numbers: 0, differences });
    // Of several copies of a run, the first is stored.
    if (this.seen.has(run.contentId)) return;
    this.seen.add(run.contentId);
    for (const problem of storedDifferences(stored, run)) this.report.add(place, text.firstLine, problem);
  }

  private take(
    path: string,
    firstLine: number,
    found: { readonly numbers: number; readonly differences: readonly Difference[] },
  ): void {
    this.report.numbers += found.numbers;
    for (const { line, what } of found.differences.slice(0, MAX_DIFFERENCES)) {
      this.report.add(path, line ?? firstLine, what);
    }
    const more = found.differences.length - MAX_DIFFERENCES;
    if (more > 0) this.report.add(path, firstLine, `and ${more} more differences in this run`);
  }
}
