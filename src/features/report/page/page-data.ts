import type { PageCell, PageData, PagePoint, SweepValue } from '../../../html/page-data.ts';
import { wholeOf } from '../../../records/gated-metric.ts';
import { metricOf } from '../../../records/metric.ts';
import type { Environment } from '../../../records/environment.ts';
import { dotted } from '../../../terminal/text-width.ts';
import { cellLabel } from '../../../text/cell-label.ts';
import { levelOf, ownRows } from './cell-rows.ts';
import { namesOf } from './finding-words.ts';
import type { ReportData } from './report-data.ts';

export function pageDataOf(data: ReportData): PageData {
  const [rows, names] = [ownRows(data), namesOf(data)];
  return {
    provenance: data.series.provenance,
    sweeps: data.sweeps.map(({ commit, dirty, startedAt, sweepId }) => ({
      id: sweepId.slice(0, 12),
      start: startedAt?.slice(0, 16).replace('T', ' ') ?? '',
      commit: commit === null ? '' : `${commit.slice(0, 10)}${dirty === true ? '+dirty' : ''}`,
    })),
    environments: data.environments.map(environmentText),
    cells: data.cells.map((one): PageCell => {
      const { cell, metric, values, marks, leftOut, samples, layers, diffs } = one;
      const { label, unit, betterIs } = metricOf(metric);
      return {
        key: cell.key,
        label: cellLabel(cell),
        name: names.get(cell.key) ?? '',
        metric: label,
        unit,
        betterIs,
        most: wholeOf(metric),
        level: levelOf(one, rows.get(cell.key)),
        values,
        marks,
        leftOut,
        samples,
        layers,
        diffs,
      };
    }),
    workloads: workloadsOf(data, names),
  };
}

function workloadsOf({ cells, pareto }: ReportData, names: ReadonlyMap<string, string>): PageData['workloads'] {
  const noises = new Map(cells.map(({ cell, values }) => [cell.key, noiseOf(values.findLast((one) => one !== null))]));
  return (pareto?.workloads ?? []).flatMap((workload) => {
    const points = workload.flatMap((one): PagePoint[] => {
      const { accuracyState: accuracy, key, label, precision, latencyMs, itemsPerS } = one;
      if (latencyMs === null || itemsPerS === null) return [];
      const noise = noises.get(key) ?? 0;
      return [{ key, label: names.get(key) ?? label, precision, latencyMs, itemsPerS, accuracy, noise }];
    });
    return points.length === 0 ? [] : [{ model: workload[0]?.model ?? '', points }];
  });
}

function noiseOf(newest: SweepValue | null | undefined): number {
  return newest ? (newest.most - newest.least) / 2 / newest.value : 0;
}

/** What distinguishes machines, on one line. */
function environmentText({ gpuName, driver, cuda, tensorrt, clockPolicy, host }: Environment): string {
  const named = { driver, CUDA: cuda, TensorRT: tensorrt, clocks: clockPolicy, host };
  const known = Object.entries(named).map(([name, value]) => (value === null ? null : `${name} ${value}`));
  return dotted([gpuName, ...known]) || 'nothing is known of it';
}
