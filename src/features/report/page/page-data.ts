import type {
  PageCell,
  PageData,
  PageDiff,
  PageLayers,
  PagePoint,
  PageWorkload,
  ReportLayers,
  ReportLayersDiff,
  SweepValue,
} from '../../../html/page-types.ts';
import { wholeOf } from '../../../records/gated-metric.ts';
import { metricOf } from '../../../records/metric.ts';
import { cellLabel } from '../../../text/cell-label.ts';
import { printable } from '../../../text/printable.ts';
import { dotted } from '../../../terminal/text-width.ts';
import type { Environment } from '../../../records/environment.ts';
import { namesOf } from './finding-words.ts';
import { levelOf, ownRows } from './cell-rows.ts';
import type { ReportCell, ReportData } from './report-data.ts';

export function pageDataOf(data: ReportData): PageData {
  const texts = new TextTable();
  const [rows, names] = [ownRows(data), namesOf(data)];
  const cells = data.cells.map((one) => {
    const { key } = one.cell;
    const level = levelOf(one, rows.get(key));
    return { ...pageCell(one, texts), name: printable(names.get(key) ?? ''), level };
  });
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
    workloads: workloadsOf(data, names),
  };
}

function pageCell(report: ReportCell, texts: TextTable): Omit<PageCell, 'name' | 'level'> {
  const { cell, metric, values, marks, leftOut, samples } = report;
  const { label, unit, betterIs } = metricOf(metric);
  return {
    key: cell.key,
    label: printable(cellLabel(cell)),
    metric: label,
    unit,
    betterIs,
    most: wholeOf(metric),
    values: values.map((sweep) =>
      sweep === null ? null : [sweep.value, sweep.least, sweep.most, sweep.runs, sweep.environment],
    ),
    marks: marks.map((mark) => ({ ...mark, text: printable(mark.text) })),
    leftOut: leftOut.map((entry) => ({ ...entry, reason: printable(entry.reason) })),
    samples,
    layers: report.layers === null ? null : pageLayers(report.layers, texts),
    diffs: report.diffs.map((diff) => pageDiff(diff, texts)),
  };
}

/** Labels of fused layers name every node. */
const LONGEST_LABEL = 160;

function pageLayers({ layers, ...facts }: ReportLayers, texts: TextTable): PageLayers {
  const rows = layers.map(({ block, label, limit, ms, peak, precision, purpose, tactic, type }) => [
    ms,
    ...[label, block, purpose, type, precision, tactic, peak, limit].map((text) => placeOf(texts, text)),
  ]);
  return { ...facts, runId: facts.runId.slice(0, 8), notes: facts.notes.map(printable), rows };
}

function pageDiff(diff: ReportLayersDiff, texts: TextTable): PageDiff {
  const rows = diff.rows.map(({ baseMs, change, detail, headMs, label, layers }) => [
    baseMs,
    headMs,
    ...layers,
    ...[label, change, detail].map((text) => placeOf(texts, text)),
  ]);
  return { ...diff, title: printable(diff.title), rows };
}

function placeOf(texts: TextTable, text: string): number {
  const short = text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 1)}…` : text;
  return texts.placeOf(printable(short));
}

function workloadsOf({ cells, pareto }: ReportData, names: ReadonlyMap<string, string>): PageWorkload[] {
  const noises = new Map(cells.map(({ cell, values }) => [cell.key, noiseOf(values.findLast((one) => one !== null))]));
  return (pareto?.workloads ?? []).flatMap((workload): PageWorkload[] => {
    const points = workload.flatMap((one): PagePoint[] => {
      const { accuracyState: accuracy, key, label, precision, latencyMs, itemsPerS } = one;
      if (latencyMs === null || itemsPerS === null) return [];
      const noise = noises.get(key) ?? 0;
      return [{ key, label: printable(names.get(key) ?? label), precision, latencyMs, itemsPerS, accuracy, noise }];
    });
    const [first] = workload;
    return points.length === 0 ? [] : [{ model: printable(first?.model ?? ''), points }];
  });
}

function noiseOf(newest: SweepValue | null | undefined): number {
  return newest ? (newest.most - newest.least) / 2 / newest.value : 0;
}

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

/** What distinguishes machines, on one line. */
function environmentText(environment: Environment): string {
  const { gpuName, driver, cuda, tensorrt, clockPolicy, host } = environment;
  const text = dotted([
    gpuName,
    driver === null ? null : `driver ${driver}`,
    cuda === null ? null : `CUDA ${cuda}`,
    tensorrt === null ? null : `TensorRT ${tensorrt}`,
    clockPolicy === null ? null : `clocks ${clockPolicy}`,
    host === null ? null : `host ${host}`,
  ]);
  return text === '' ? 'nothing is known of it' : text;
}
