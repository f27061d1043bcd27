import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { UsageError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import type { ReportHtmlOutput } from './output.ts';
import { type PageAssets, reportPage } from './page/report-page.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import type { Io } from '../../cli/io.ts';
import { cannotWrite, writeOutput } from '../../cli/output-file.ts';
import { redactionFor } from '../../cli/redacted.ts';
import { packageFolder } from '../../files/folders.ts';
import type { ReportOptions } from './command.ts';
import { htmlReportData, type HtmlReportOptions, type PageAbout, type ReportData } from './html-data.ts';
import { newestChecked } from './judgements.ts';

type ReportHtmlOptions = HtmlReportOptions & Pick<ReportOptions, 'redact'>;

/** @param file null for standard output */
export async function writeHtml(
  db: StoreDatabase,
  file: string | null,
  options: ReportHtmlOptions,
  io: Io,
  about: PageAbout,
): Promise<ReportHtmlOutput> {
  const { data, html } = await madePage(db, options, io, about);
  if (file === null) io.out(html);
  else await writeOutput(file, [html], io);
  const { provenance } = data.series;
  const [cells, sweeps] = [data.cells.length, data.sweeps.length];
  return { schemaVersion: 1, file: file ?? '-', bytes: Buffer.byteLength(html), provenance, cells, sweeps };
}

/** The report for `bench serve`. */
export async function liveReport(db: StoreDatabase, options: ReportHtmlOptions, io: Io): Promise<string> {
  return (await madePage(db, options, io, { checked: await newestChecked(db, options, io) })).html;
}

async function madePage(db: StoreDatabase, options: ReportHtmlOptions, io: Io, about: PageAbout) {
  const data = await htmlReportData(db, options, io, about);
  return { data, html: reportPage(options.redact === true ? redacted(data, options, io) : data, pageAssets()) };
}

/** Checks before the work that the file can be written. @param named null for standard output */
export function refuseUnwritable(named: string | null, { cwd }: Pick<Io, 'cwd'>): void {
  if (named === null) return;
  const path = resolve(cwd, named);
  try {
    accessSync(`${dirname(path)}/`, constants.W_OK);
  } catch (error) {
    throw cannotWrite(named, error);
  }
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw new UsageError(`${printable(named)} is a folder; name a file`);
  }
}

/** The script and style of the page, which the build puts next to the program. */
export function pageAssets(): PageAssets {
  const folder = join(packageFolder(), 'dist');
  return {
    script: readFileSync(join(folder, 'page.js'), 'utf8'),
    style: readFileSync(join(folder, 'page-style.css'), 'utf8'),
  };
}

function redacted(data: ReportData, options: ReportHtmlOptions, io: Io): ReportData {
  const text = JSON.stringify(data);
  const redaction = redactionFor(io, options, text);
  const copy: ReportData = JSON.parse(JSON.stringify(redaction.json(JSON.parse(text))));
  // A link would reveal the host and the owner of the repository.
  return { ...copy, forge: null };
}
