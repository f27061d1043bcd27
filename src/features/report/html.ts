import type { ReportHtmlOutput } from './output.ts';
import { reportPage } from './page/report-page.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import type { Io } from '../../cli/io.ts';
import { writeOutput } from '../../cli/output-file.ts';
import { redactionFor } from '../../cli/redacted.ts';
import { htmlReportData, type HtmlReportOptions, type ReportData } from './html-data.ts';
import type { Subject } from './gather.ts';

/** The report for `bench report` and `bench serve`. */
export async function madePage(db: StoreDatabase, options: HtmlReportOptions, io: Io, subject: Subject) {
  const data = await htmlReportData(db, options, io, subject);
  return { data, html: reportPage(options.redact === true ? redacted(data, options, io) : data) };
}

/** @param file null for standard output */
export async function writePage(file: string | null, { data, html }: Page, io: Io): Promise<ReportHtmlOutput> {
  if (file === null) io.out(html);
  else await writeOutput(file, [html], io);
  const { provenance } = data.series;
  const [cells, sweeps] = [data.cells.length, data.sweeps.length];
  return { schemaVersion: 1, file: file ?? '-', bytes: Buffer.byteLength(html), provenance, cells, sweeps };
}

type Page = Awaited<ReturnType<typeof madePage>>;

function redacted(data: ReportData, options: HtmlReportOptions, io: Io): ReportData {
  const text = JSON.stringify(data);
  const redaction = redactionFor(io, options, text);
  const copy: ReportData = JSON.parse(JSON.stringify(redaction.json(JSON.parse(text))));
  // A link would reveal the host and the owner of the repository.
  return { ...copy, forge: null };
}
