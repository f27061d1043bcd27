import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { packageFolder } from '../../../files/folders.ts';
import { Markup, markup, scriptJson, shortened } from '../../../html/markup.ts';
import type { PageCell, PageData, PagePoint } from '../../../html/page-data.ts';
import { identity } from '../../../terminal/machine-text.ts';
import { wholeOf } from '../../../records/gated-metric.ts';
import { metricOf } from '../../../records/metric.ts';
import { dotted } from '../../../terminal/look.ts';
import { cellLabel } from '../../../records/cell.ts';
import { cellsView } from './cells-view.ts';
import { type PageModel, pageModel } from './cell-rows.ts';
import { findingsView } from './findings-view.ts';
import { firstScreen, storyOf } from './first-screen.ts';
import { type HtmlReportOptions, type ReportData, htmlReportData } from '../html-data.ts';
import type { Io } from '../../../cli/io.ts';
import { redactionFor } from '../../../cli/redacted.ts';
import type { StoreDatabase } from '../../../store/file/open.ts';
import type { Subject } from '../gather.ts';
import { environmentView, matrixView, paretoView } from './sections.ts';

/** The script and style of the page, which the build puts next to the program. */
function pageAssets() {
  const [script = '', style = ''] = ['page.js', 'page-style.css'].map((name) =>
    readFileSync(join(packageFolder(), 'dist', name), 'utf8'),
  );
  return { script, style };
}

/** The content security policy, which allows only the page's own script and style. */
export function pagePolicy({ script, style } = pageAssets()): string {
  return [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

/** The report for `bench report` and `bench serve`. */
export async function madePage(db: StoreDatabase, options: HtmlReportOptions, io: Io, subject: Subject) {
  const data = await htmlReportData(db, options, io, subject);
  return { data, html: reportPage(options.redact === true ? redacted(data, options, io) : data) };
}

function redacted(data: ReportData, options: HtmlReportOptions, io: Io): ReportData {
  const text = JSON.stringify(data);
  const redaction = redactionFor(io, options, text);
  const copy: ReportData = JSON.parse(JSON.stringify(redaction.json(JSON.parse(text))));
  // A link would reveal the host and the owner of the repository.
  return { ...copy, forge: null };
}

/** The page as one self-contained file. */
function reportPage(data: ReportData): string {
  const { series } = data;
  const assets = pageAssets();
  const page = pageModel(data);
  const story = storyOf(page);
  const views = [
    ['findings', 'Findings', findingsView(page, story.finding)],
    ['cells', 'Cells', cellsView(page)],
    ['matrix', 'Matrix', matrixView(page)],
    ['pareto', 'Precisions', paretoView(page)],
    ['environment', 'Environment', environmentView(page)],
  ] as const;
  const shown = views.filter(([, , view]) => view !== null);
  const title = `${shortened(series.matrix ?? 'imported results', 60)}: ${story.what}${story.size} · ${series.provenance} · bench report`;
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${pagePolicy(assets)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="trtbench ${data.toolVersion}">
<title>${title}</title>
<style>${new Markup(assets.style)}</style>
</head>
<body>
<a class="skip" href="#cells">Skip to the table of cells</a>
${firstScreen(page, story)}
<nav aria-label="Views"><ul>${shown.map(([id, name]) => markup`<li><a href="#${id}">${name}</a></li>`)}</ul></nav>
<main>
<noscript><p class="note">Charts need the script of this page, which this browser does not run. All tables are here without it.</p></noscript>
${shown.map(([, , view]) => view)}
</main>
<footer><p>Made by trtbench ${data.toolVersion} from its store. Only ${series.provenance} results of this matrix and branch are in it.</p></footer>
<div id="tip" aria-hidden="true" hidden></div>
<div id="said" role="status" class="unseen"></div>
<script type="application/json" id="data">${scriptJson(pageDataOf(page))}</script>
<script>${new Markup(assets.script)}</script>
</body>
</html>
`.text;
}

function pageDataOf(data: PageModel): PageData {
  return {
    provenance: data.series.provenance,
    sweeps: data.sweeps.map(({ commit, dirty, startedAt, sweepId }) => ({
      id: sweepId.slice(0, 12),
      start: startedAt?.slice(0, 16).replace('T', ' ') ?? '',
      commit: commit === null ? '' : `${commit.slice(0, 10)}${dirty === true ? '+dirty' : ''}`,
    })),
    environments: data.environments.map((one) =>
      dotted([...identity(one), one.clockPolicy && `clocks ${one.clockPolicy}`]),
    ),
    cells: data.cells.map((one): PageCell => {
      const { cell, metric, judgement: _, boundBy: __, ...drawn } = one;
      const { label, unit } = metricOf(metric);
      return { key: cell.key, label: cellLabel(cell), metric: label, unit, whole: wholeOf(metric), ...drawn };
    }),
    workloads: (data.pareto?.workloads ?? []).map((workload) => ({
      model: workload[0]?.model ?? '',
      points: workload.flatMap((one): PagePoint[] => {
        const { accuracyState: accuracy, dominatedBy, key, label, precision, latencyMs, itemsPerS } = one;
        if (latencyMs === null || itemsPerS === null) return [];
        const isDominated = dominatedBy !== null;
        return [{ key, label: data.names.get(key) ?? label, precision, latencyMs, itemsPerS, accuracy, isDominated }];
      }),
    })),
  };
}
