import { appendFileSync } from 'node:fs';
import { resolve } from 'node:path';

import * as z from 'zod';

import { MatrixError, UsageError, failOn } from '../../errors.ts';
import { calledWithApi, plugInProblem } from '../../harnesses/plug-in.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { loadModule } from '../../cli/load-module.ts';
import { jsonText, printable, shortList } from '../../text/printable.ts';
import {
  bencherJson,
  csvText,
  githubAnnotations,
  junitXml,
  markdownText,
  openMetricsText,
  type ReportedSweep,
  statusOf,
  withoutIneligible,
} from '../export/index.ts';
import { redactionFor } from '../../cli/redacted.ts';
import { keysOf } from '../../text/unknown-values.ts';
import { type Io, printLines, printResult } from '../../cli/io.ts';
import { cannotWrite, writeOutput } from '../../cli/output-file.ts';
import { withStore } from '../../cli/with-store.ts';
import type { ReportHtmlOutput, ReportOutput, UpgradeOutput } from './output.ts';
import { foundInAll } from '../check/index.ts';
import { matrixOfSweep, placesOf } from '../plan/index.ts';
import { madePage } from './page/report-page.ts';
import { gatherReport, subjectOf } from './gather.ts';
import { count, formatBytes, formatDecibels } from '../../terminal/numbers.ts';
import type { ReportOptions } from './command.ts';
import { MAX_DROP_DB, accuracyDrop, sameAccuracyHistory } from '../../records/accuracy.ts';
import { recordsByCell } from '../../store/runs/accuracies.ts';
import { type Look, wrapHanging } from '../../terminal/look.ts';
import { type Compared, compareText, type Comparison, shiftSize } from '../compare/index.ts';

/** To add a format, add its name here, and an option of that name in `command.ts`. */
const FORMATS = {
  md: markdownText,
  junit: junitXml,
  csv: csvText,
  openmetrics: (gathered: ReportedSweep) => openMetricsText(withoutIneligible(gathered)),
  bmf: (gathered: ReportedSweep) => `${jsonText(bencherJson(withoutIneligible(gathered)))}\n`,
} as const;

const FORMAT_NAMES = keysOf(FORMATS);

export async function report(stated: string | undefined, head: string | undefined, given: ReportOptions, io: Io) {
  const { base, options } = withRange(stated, given);
  const formats = FORMAT_NAMES.filter((name) => options[name] !== undefined);
  refuseUnclear(base, head, options);
  const plugIns = (options.reporter ?? []).map(namedFile);
  const hasOthers = formats.length + plugIns.length > 0 || options.github === true;
  const hide = (text: string): string => (options.redact === true ? redactionFor(io, options, text).text(text) : text);
  return withStore(options, io, async ({ db }) => {
    const subject = await subjectOf(db, base === undefined ? null : { base, head }, options, io);
    const { checked, compared } = subject;
    const upgrade = options.upgrade === true && compared !== null ? upgradeAnswer(db, compared) : null;
    const gathered = gatherReport(db, subject, options, upgrade === null ? [] : [upgrade.answer]);
    const page = options.html === undefined ? null : await madePage(db, options, io, subject);
    const reporters = plugIns.length === 0 ? [] : await reportersOf(db, gathered.sweeps[0], io);
    const written = [
      ...(page === null ? [] : [{ format: 'html', file: options.html, render: () => page.html }]),
      ...formats.map((format) => ({ format, file: options[format], render: () => hide(FORMATS[format](gathered)) })),
      ...plugIns.map(({ name, file }) => {
        return { format: name, file, render: async () => hide(await rendered(name, reporters, gathered)) };
      }),
    ];
    const files: ReportOutput['files'][number][] = [];
    for (const { format, file, render } of written) {
      const text = await render();
      if (typeof file === 'string' && file !== '-') {
        await writeOutput(file, [text], io);
        files.push({ format, file });
      } else io.out(text);
    }
    if (options.github === true) reportToGithub(gathered, hide, io);
    const output =
      page === null || hasOthers || upgrade !== null ? [] : files.map(({ file }) => pageOutput(page, file));
    for (const one of output) printResult(io, options, one, () => [pageLine(one)]);
    if (options.json === true && hasOthers) io.out(`${jsonText(reportOutput(gathered, files))}\n`);
    else if (output.length === 0) for (const { file } of files) io.err(`wrote ${printable(file)}\n`);
    // The answer is not mixed with a page on standard output.
    if (!hasOthers && upgrade !== null && written.length === files.length) {
      printResult(io, options, upgrade.output, (_, look) => upgrade.text(look));
    }
    const between = upgrade?.found ?? foundBetween(gathered);
    return failOn(options.failOn, checked === null ? between : foundInAll([checked, ...checked.others]));
  });
}

function pageOutput({ data, html }: Awaited<ReturnType<typeof madePage>>, file: string): ReportHtmlOutput {
  const { provenance } = data.series;
  const [cells, sweeps] = [data.cells.length, data.sweeps.length];
  return { schemaVersion: 1, file, bytes: Buffer.byteLength(html), provenance, cells, sweeps };
}

function pageLine({ bytes, cells, file, provenance, sweeps }: ReportHtmlOutput): string {
  return `${printable(file)}: ${count(cells, 'cell')}, ${count(sweeps, 'sweep')}, ${provenance}, ${formatBytes(bytes)}`;
}

/** Input of `failOn` for two sides. */
function foundBetween({ cells, shift }: ReportedSweep) {
  const found = new Set<string>(cells.map(statusOf));
  const regression = found.has('slower') || shift?.verdict === 'slower';
  return { regression, failed: found.has('failed'), unclear: found.has('unclear') };
}

/** Matches `a..b` and `a...b`, but not a path with a folder `..`. */
const RANGE = /[^./]\.{2,3}(?:[^./]|$)/;

/** Handles `--md main...HEAD`, because commander takes the range for the file of the option. */
function withRange(base: string | undefined, options: ReportOptions) {
  const name = (['html', ...FORMAT_NAMES] as const).find((format) => RANGE.test(String(options[format] ?? '')));
  if (name === undefined || base !== undefined) return { base, options };
  return { base: String(options[name]), options: { ...options, [name]: true } };
}

/** Splits `NAME=FILE`, or `NAME`. */
function namedFile(text: string): { readonly name: string; readonly file: string | true } {
  const place = text.indexOf('=');
  return place === -1 ? { name: text, file: true } : { name: text.slice(0, place), file: text.slice(place + 1) };
}

function refuseUnclear(base: string | undefined, head: string | undefined, options: ReportOptions): void {
  const { asOf, github, html, json, night, reporter = [], upgrade } = options;
  if (upgrade === true && (base === undefined || (head === undefined && !base.includes('..')))) {
    throw new UsageError('--upgrade takes two sides: bench report --upgrade OLD NEW, such as trt=10.6 trt=10.16');
  }
  const files = [html, ...FORMAT_NAMES.map((name) => options[name]), ...reporter.map((text) => namedFile(text).file)];
  if (files.every((file) => file === undefined) && github !== true && upgrade !== true) {
    throw new UsageError(
      'which format? --html, --md, --junit, --csv, --openmetrics, --bmf, --reporter, each with a file or to standard output; or --github',
    );
  }
  if ([...files, github, json].filter((file) => file === true || file === '-').length > 1) {
    throw new UsageError('only one thing can go to standard output: name files, such as --junit report.xml');
  }
  if ((night === true || asOf !== undefined) && base !== undefined) {
    throw new UsageError(`--${night === true ? 'night' : 'as-of'} judges one sweep: it takes no BASE or HEAD`);
  }
}

function reportToGithub(gathered: ReportedSweep, hide: (text: string) => string, io: Io): void {
  const summary = io.env['GITHUB_STEP_SUMMARY'];
  if (summary) {
    try {
      appendFileSync(summary, hide(markdownText(gathered)));
    } catch (error) {
      throw cannotWrite(summary, error);
    }
  }
  printLines(io, hide(githubAnnotations(gathered).join('\n')).split('\n'));
}

function reportOutput(gathered: ReportedSweep, files: ReportOutput['files']): ReportOutput {
  const { baseRef, cells, gate, ref, shift, sweeps } = gathered;
  const findings = (gate?.findings ?? []).map(({ id, state }) => ({ id, state }));
  const sides = { sweepIds: sweeps.map(({ sweepId }) => sweepId), ref, baseRef, shift };
  const byStatus = [...Map.groupBy(cells, statusOf)].map(([status, { length }]) => [status, length] as const);
  const counts = Object.fromEntries(byStatus);
  return { schemaVersion: 1, ...sides, headline: gate?.headline ?? null, findings, cells: cells.length, counts, files };
}

const reporterShape = z.object({
  name: z.string().min(1),
  render: z.custom<(report: ReportedSweep) => string | Promise<string>>((value) => typeof value === 'function'),
});

type Reporter = z.infer<typeof reporterShape>;

/** The reporters that the matrix of a sweep names. @throws MatrixError if one cannot be loaded */
async function reportersOf(db: StoreDatabase, sweep: Sweep, io: Io): Promise<readonly Reporter[]> {
  const matrix = matrixOfSweep(db, sweep, await placesOf(io), io);
  return (matrix?.reporters ?? []).map(({ value, at }) => {
    try {
      return reporterShape.parse(calledWithApi(loadModule(value, resolve(io.cwd, at.file))));
    } catch (error) {
      const problem = printable(`reporters: ${value}: ${plugInProblem(error)}`);
      throw new MatrixError([{ at, problem }], { cause: error });
    }
  });
}

/** @throws UsageError when there is no reporter of this name, or it fails */
async function rendered(name: string, reporters: readonly Reporter[], gathered: ReportedSweep): Promise<string> {
  const found = reporters.find((reporter) => reporter.name === name);
  if (found === undefined) {
    throw new UsageError(
      `--reporter ${printable(name)}: not under reporters: in the matrix of this sweep, which must lie in this folder or its repository`,
    );
  }
  try {
    return z.string().parse(await found.render(gathered));
  } catch (error) {
    throw new UsageError(`reporter ${printable(name)}: ${printable(plugInProblem(error))}`, { cause: error });
  }
}

/** Of `bench report --upgrade OLD NEW`: `bench compare` across versions of TensorRT, with reasons against the upgrade. */
export function upgradeAnswer(db: StoreDatabase, { details, output: compared }: Compared) {
  const { cells, counts, shift } = compared;
  const lost = cells.filter(({ runs: [a, b], verdict }) => verdict === 'failed' && a > 0 && b === 0).length;
  const fallen = fallenAccuracies(db, compared);
  const against = [
    ...(lost === 0 ? [] : [`${count(lost, 'cell')} that ran before: no result`]),
    ...(fallen.length === 0 ? [] : [`accuracy fell in ${shortList(fallen, NAMED)}`]),
    ...(counts.slower === 0 ? [] : [count(counts.slower, 'slower cell')]),
    ...(shift?.verdict === 'slower' ? [shiftSize(shift)] : []),
  ];
  const output: UpgradeOutput = { ...compared, schemaVersion: 2, against };
  const answer = answerText(output);
  return {
    output,
    answer,
    text: (look: Look) => [
      ...wrapHanging(printable(answer), look.columns, 2).map(look.style.strong),
      ...compareText(output, details, look),
    ],
    found: {
      regression: shift?.verdict === 'slower' || counts.slower + fallen.length > 0,
      failed: lost > 0,
      unclear: counts.unclear + counts.incomparable > 0,
    },
  };
}

/** Maximum number of less accurate cells that are named. */
const NAMED = 3;

/** Accuracies of the files from which the engines were built, on the same inputs: `vit fp8 30.0 dB → 24.0 dB`. */
function fallenAccuracies(db: StoreDatabase, { base, cells, head }: Comparison): string[] {
  const before = recordsByCell(db, base.sweepIds);
  const after = recordsByCell(db, head.sweepIds);
  return cells.flatMap(({ key, label }) => {
    const drops = (after.get(key) ?? []).flatMap((now) => {
      const was = before.get(key)?.find((record) => sameAccuracyHistory(record, now)) ?? null;
      const drop = accuracyDrop(now, was, MAX_DROP_DB);
      if (drop?.isRegression !== true) return [];
      return `${label} ${formatDecibels(drop.before.accuracy.sqnrDb)} → ${formatDecibels(now.accuracy.sqnrDb)}`;
    });
    return drops.slice(0, 1);
  });
}

function answerText({ against, counts }: Pick<UpgradeOutput, 'against' | 'counts'>): string {
  if (against.length > 0) return `reasons against an upgrade: ${against.join(', ')}`;
  const isJudged = counts.faster + counts.same + counts.slower > 0;
  return isJudged ? 'no measured result is against an upgrade' : 'not known yet: no cell has a verdict';
}
