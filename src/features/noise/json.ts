import type { FalseAlarms } from './false-alarms.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { metricOf } from '../../records/metric.ts';
import { noiseNotes, type NoiseReport } from './words.ts';

export function noiseJson(report: NoiseReport) {
  const { sweep, first, sweeps, wantPercent, noise } = report;
  const { falseAlarms, effort } = noise;
  return {
    schemaVersion: 1,
    sweepId: sweep.sweepId,
    firstSweepId: first.sweepId,
    branch: sweep.branch,
    matrix: sweep.matrix,
    provenance: sweep.provenance,
    sweeps,
    repeats: noise.repeats,
    mdePercent: noise.visiblePercent,
    falseAlarms: {
      all: alarmsJson(falseAlarms.all),
      halves: alarmsJson(falseAlarms.halves),
      neighbours: alarmsJson(falseAlarms.neighbours),
    },
    wantPercent,
    effort,
    cells: noise.cells.map(({ cell, metric, ...numbers }) => ({
      key: cell.key,
      label: cellLabel(cell),
      metric,
      unit: metricOf(metric).unit,
      runs: numbers.runs,
      sweeps: numbers.sweeps,
      repeats: numbers.repeats,
      runPercent: numbers.runPercent,
      nightPercent: numbers.nightPercent,
      larger: numbers.larger,
      mdePercent: numbers.visiblePercent,
      repeatsWanted: numbers.repeatsWanted,
      attainablePercent: numbers.attainablePercent,
      wallS: numbers.wallS,
      twoStates: numbers.twoStates,
    })),
    builds: report.builds.map(({ cell, metric, luck, differ, kinds }) => ({
      key: cell.key,
      label: cellLabel(cell),
      metric,
      unit: metricOf(metric).unit,
      builds: luck.buildIds.length,
      runs: luck.runs,
      buildPercent: luck.betweenPercent,
      runPercent: luck.withinPercent,
      pValue: luck.pValue,
      differ,
      kernels:
        kinds === null
          ? null
          : {
              kinds: kinds.kinds,
              layers: kinds.layers,
              otherKernels: kinds.most === null ? 0 : kinds.most.otherKernels,
            },
    })),
    notes: noiseNotes(report),
  };
}

function alarmsJson(alarms: FalseAlarms) {
  const { comparisons, alarmed, cells, cellComparisons, calls, ofCells, ofComparisons } = alarms;
  return { comparisons, alarmed, cells, cellComparisons, calls, ofCells, ofComparisons };
}
