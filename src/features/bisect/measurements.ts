import { measured } from './turns.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { gateMetric, type Metric, metricOf } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import { findCells } from '../../store/cells.ts';
import type { Session } from './state.ts';
import { Side } from './side.ts';
import type { Subject, Task } from './subject.ts';
import { valueRule } from '../../judge/value-rule.ts';

/** The measurements of a bisection: both ends and every candidate. */
export class Measurements {
  readonly good: Side;
  readonly bad: Side;
  private readonly session: Session;
  private readonly sides = new Map<string, Side>();

  constructor(session: Session, task: Task) {
    this.session = session;
    this.good = this.sideOf(task.good);
    this.bad = this.sideOf(task.bad);
    // Their runs show the scatter.
    for (const { candidate } of session.state().steps) this.sideOf(task.subject(candidate));
  }

  sideOf(subject: Subject): Side {
    const known = this.sides.get(subject.key) ?? new Side(subject, this.session);
    this.sides.set(subject.key, known);
    return known;
  }

  sideWithKey(key: string): Side | null {
    return this.sides.get(key) ?? null;
  }

  get cell(): KeyedCell | null {
    const { cellKey } = this.session.state();
    const { db } = this.session.store;
    return cellKey === null ? null : (findCells(db, [cellKey]).get(cellKey) ?? null);
  }

  get metric(): Metric {
    const { metric } = this.session.state().request;
    return metricOf(gateMetric(metric, this.cell ?? { streams: 1 }));
  }

  valuesOf(side: Side): number[] {
    return measured(side.sideRuns(this.reader()));
  }

  ends() {
    const value = this.reader();
    return {
      good: this.good.sideRuns(value),
      bad: this.bad.sideRuns(value),
      betterIs: this.metric.betterIs,
      maxRuns: this.session.state().request.maxRuns,
    };
  }

  /** The runs of a candidate, and those of its neighbors. */
  candidate(side: Side) {
    const value = this.reader();
    const others = [...this.sides.values()].filter(
      (other) => other !== side && other !== this.good && other !== this.bad,
    );
    return { candidate: side.sideRuns(value), others: others.map((other) => measured(other.sideRuns(value))) };
  }

  /** @throws BrokenSubjectError */
  async measure(side: Side, shown: string): Promise<void> {
    if (!(await side.measure())) return;
    const last = side.sideRuns(this.reader()).values.at(-1) ?? null;
    const value = last === null ? 'no measurement' : `${last.toPrecision(4)} ${this.metric.unit}`;
    this.session.io.err(`  ${printable(shown)}: ${value}\n`);
  }

  /** Called at the end, whatever the result. */
  async settle(): Promise<void> {
    for (const side of this.sides.values()) await side.settle();
  }

  private reader() {
    const all = [...this.sides.values()].flatMap(({ runs }) => runs);
    return valueRule(all, this.metric.id);
  }
}
