import type {
  CellSamples,
  PageCell,
  PageData,
  PageDiff,
  PageLayers,
  PageNight,
  PagePoint,
  PageWorkload,
  ReportLayers,
  ReportLayersDiff,
  ReportNight,
} from '../../../html/page-types.ts';
import { metricOf } from '../../../records/metric.ts';
import { cellLabel } from '../../../text/cell-label.ts';
import { printable } from '../../../text/printable.ts';
import { environmentText } from './environment-view.ts';
import type { ReportCell, ReportData } from './report-data.ts';

export function pageDataOf(data: ReportData): PageData {
  const texts = new TextTable();
  const cells = data.cells.map((cell) => pageCell(cell, texts));
  return {
    provenance: data.series.provenance,
    sweeps: {
      ids: data.sweeps.map(({ sweepId }) => sweepId.slice(0, 12)),
      starts: data.sweeps.map(({ startedAt }) => startedAt?.slice(0, 16).replace('T', ' ') ?? ''),
      commits: data.sweeps.map(({ commit, dirty }) =>
        commit === null ? '' : printable(commit.slice(0, 10)) + (dirty === true ? '+dirty' : ''),
      ),
      baselines: data.sweeps.map(({ baselines }) => baselines.map(printable)),
    },
    environments: data.environments.map((environment) => printable(environmentText(environment))),
    cells,
    texts: texts.texts,
    workloads: workloadsOf(data),
  };
}

function pageCell(report: ReportCell, texts: TextTable): PageCell {
  const { cell, metric, nights, marks, leftOut, samples } = report;
  const { label, unit, betterIs } = metricOf(metric);
  return {
    key: cell.key,
    label: printable(cellLabel(cell)),
    metric: label,
    unit,
    betterIs,
    nights: nights.map((night) => (night === null ? null : pageNight(night))),
    marks: marks.map((mark) => ({ ...mark, text: printable(mark.text) })),
    leftOut: leftOut.map((entry) => ({ ...entry, reason: printable(entry.reason) })),
    samples: rounded(samples),
    layers: report.layers === null ? null : pageLayers(report.layers, texts),
    diffs: report.diffs.map((diff) => pageDiff(diff, texts)),
  };
}

function pageNight({ value, least, most, runs, environment }: ReportNight): PageNight {
  return [round(value), round(least), round(most), runs, environment];
}

/** More digits than a chart or a table shows. */
const DIGITS = 6;

function round(value: number): number {
  return Number(value.toPrecision(DIGITS));
}

function rounded(samples: CellSamples): CellSamples {
  const { histogram } = samples;
  if (histogram === null) return samples;
  return {
    ...samples,
    histogram: {
      ...histogram,
      runs: histogram.runs.map((run) => {
        const { min, median, p90, p99, max } = run.statistics;
        return {
          ...run,
          runId: run.runId.slice(0, 8),
          statistics: { min: round(min), median: round(median), p90: round(p90), p99: round(p99), max: round(max) },
        };
      }),
    },
  };
}

/** Labels of fused layers name every node; nobody reads more of one than this. */
const LONGEST_LABEL = 160;

function pageLayers(report: ReportLayers, texts: TextTable): PageLayers {
  const { layers, ...facts } = report;
  const column = (of: (layer: (typeof layers)[number]) => string): number[] =>
    layers.map((layer) => placeOf(texts, of(layer)));
  return {
    ...facts,
    runId: facts.runId.slice(0, 8),
    notes: facts.notes.map(printable),
    ms: layers.map(({ ms }) => round(ms)),
    labels: column(({ label }) => label),
    blocks: column(({ block }) => block),
    purposes: column(({ purpose }) => purpose),
    types: column(({ type }) => type),
    precisions: column(({ precision }) => precision),
    tactics: column(({ tactic }) => tactic),
  };
}

function pageDiff(report: ReportLayersDiff, texts: TextTable): PageDiff {
  const { rows, ...facts } = report;
  return {
    ...facts,
    title: printable(facts.title),
    changes: rows.map(({ change }) => placeOf(texts, change)),
    labels: rows.map(({ label }) => placeOf(texts, label)),
    details: rows.map(({ detail }) => placeOf(texts, detail)),
    layers: rows.map(({ layers }) => layers),
    base: rows.map((row) => round(row.baseMs)),
    head: rows.map((row) => round(row.headMs)),
  };
}

function placeOf(texts: TextTable, text: string): number {
  const short = text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 1)}…` : text;
  return texts.placeOf(printable(short));
}

function workloadsOf({ pareto }: ReportData): PageWorkload[] {
  return (pareto?.workloads ?? []).flatMap((workload): PageWorkload[] => {
    const points = workload.flatMap((one): PagePoint[] => {
      const { key, label, precision, latencyMs, itemsPerS, dominatedBy } = one;
      if (latencyMs === null || itemsPerS === null) return [];
      const isFront = dominatedBy === null;
      return [{ key, label: printable(label), precision, latencyMs, itemsPerS, isFront }];
    });
    const [first] = workload;
    return points.length === 0 ? [] : [{ model: printable(first?.model ?? ''), points }];
  });
}

/** Texts that repeat, once each. */
export class TextTable {
  readonly texts: string[] = [];
  private readonly places = new Map<string, number>();

  placeOf(text: string): number {
    const known = this.places.get(text);
    if (known !== undefined) return known;
    this.places.set(text, this.texts.length);
    this.texts.push(text);
    return this.texts.length - 1;
  }
}
