import {
  type CellEvidence,
  type MetricHistory,
  type PairResult,
  type SweepEvidence,
  gateRules,
} from '../../src/judge/gate/evidence.ts';
import { type Candidate, judgeSweep, type SweepVerdict } from '../../src/judge/gate/judge-sweep.ts';
import type { KeyedCell } from '../../src/records/cell.ts';
import type { Environment } from '../../src/records/environment.ts';
import type { Finding } from '../../src/records/finding.ts';
import { type GateSettings, type GatedMetricId, NO_GATE } from '../../src/records/gated-metric.ts';
import { newSweep } from '../../src/records/sweep.ts';
import { median } from '../../src/statistics/order-statistics.ts';
import { sweepOfNight } from './simulated-store.ts';

/** A made-up series as the gate lives through it. */
export interface SimulatedSeries {
  readonly cells: readonly KeyedCell[];
  /** The cell's own metric first. */
  readonly metrics: readonly GatedMetricId[];
  /** Of the runs of a cell in a sweep; none where it failed. */
  readonly values: (cell: number, sweep: number, metric: GatedMetricId) => readonly number[];
  readonly environmentId?: (sweep: number) => string;
  readonly environments?: ReadonlyMap<string, Environment>;
  readonly build?: (cell: number, sweep: number) => string;
  /** Whether a filter left the cell out of the sweep. */
  readonly isLeftOut?: (cell: number, sweep: number) => boolean;
  readonly settings?: Partial<GateSettings>;
  /** What pairs say of the candidates of a sweep; without it none are measured. */
  readonly pairs?: (candidates: readonly Candidate[], sweep: number) => readonly PairResult[];
}

/** Judges sweep by sweep and remembers what was reported. Ids are those of `sweepOfNight`. */
export class SimulatedGate {
  private readonly series: SimulatedSeries;
  private readonly columns: Map<string, (readonly number[])[]> = new Map();
  private sweeps = 0;
  private pairs: readonly PairResult[] | null = null;
  findings: readonly Finding[] = [];
  readonly acknowledged = new Map<string, { readonly isOver: boolean }>();

  constructor(series: SimulatedSeries) {
    this.series = series;
  }

  /** The next sweep. */
  next(): SweepVerdict {
    this.skip(1);
    this.pairs = this.series.pairs?.(this.judge([]).candidates, this.sweeps - 1) ?? null;
    const verdict = this.again();
    this.findings = verdict.findings;
    for (const id of verdict.endedAcknowledgements) this.acknowledged.delete(id);
    return verdict;
  }

  /** Further sweeps that nobody judges. */
  skip(sweeps: number): void {
    for (let count = 0; count < sweeps; count += 1) this.measure();
  }

  private measure(): void {
    const sweep = this.sweeps;
    this.sweeps += 1;
    for (const [index, cell] of this.series.cells.entries()) {
      for (const metric of this.series.metrics) {
        const name = `${cell.key} ${metric}`;
        const values = this.series.isLeftOut?.(index, sweep) === true ? [] : this.series.values(index, sweep, metric);
        this.columns.set(name, [...(this.columns.get(name) ?? []), values]);
      }
    }
  }

  /** The newest sweep once more, without remembering. */
  again(): SweepVerdict {
    return this.judge(this.pairs);
  }

  private judge(pairs: readonly PairResult[] | null): SweepVerdict {
    return judgeSweep(this.evidence(pairs));
  }

  private evidence(pairs: readonly PairResult[] | null): SweepEvidence {
    const { environments = new Map(), settings, cells } = this.series;
    const sweeps = Array.from({ length: this.sweeps }, (_, sweep) =>
      newSweep({ sweepId: sweepOfNight(sweep), source: 'run', provenance: 'simulated', toolVersion: '0', matrix: 'm' }),
    );
    return {
      sweeps,
      isPullRequest: false,
      cells: cells.map((cell, index) => this.cellEvidence(cell, index)),
      environments,
      findings: this.findings,
      acknowledged: this.acknowledged,
      rules: gateRules({ ...NO_GATE, ...settings }),
      pairs,
    };
  }

  private cellEvidence(cell: KeyedCell, index: number): CellEvidence {
    const metrics = this.series.metrics.map((metric) => this.history(cell, index, metric));
    const isLeftOut = this.series.isLeftOut?.(index, this.sweeps - 1) === true;
    const isMeasured = metrics[0]?.history.places.at(-1) === this.sweeps - 1;
    return {
      cell,
      metrics,
      environmentIds: Array.from({ length: this.sweeps }, (_, sweep) => this.series.environmentId?.(sweep) ?? null),
      isPlanned: !isLeftOut,
      isLeftOut,
      failures: isMeasured || isLeftOut ? [] : ['no run'],
    };
  }

  private history(cell: KeyedCell, index: number, metric: GatedMetricId): MetricHistory {
    const measured = (this.columns.get(`${cell.key} ${metric}`) ?? []).flatMap((values, sweep) => {
      const value = median(values);
      return value === null ? [] : [{ sweep, value, values }];
    });
    const { build } = this.series;
    return {
      metric,
      runsAt: (at) => measured[at]?.values ?? [],
      history: {
        places: measured.map(({ sweep }) => sweep),
        values: Float64Array.from(measured, ({ value }) => value),
        ...(build === undefined
          ? {}
          : { builds: measured.map(({ sweep }) => build(index, sweep)), sources: measured.map(() => 'same') }),
      },
    };
  }
}

/** Reported in this sweep, and an exit code. */
export function alarms({ findings }: SweepVerdict, sweep: number): Finding[] {
  return findings.filter(
    ({ direction, isWarning, reportedSweepId, state }) =>
      state === 'open' && direction === 'slower' && !isWarning && reportedSweepId === sweepOfNight(sweep),
  );
}
