import { clamp } from './scale.ts';

const LEAST_SWEEPS = 4;

/** Which sweeps a chart shows: both ends are included, and counted from 0 to `last`. */
export class SweepRange {
  readonly last: number;
  from: number;
  to: number;

  constructor(sweeps: number, from: number | null, to: number | null) {
    this.last = Math.max(0, sweeps - 1);
    this.from = clamp(from ?? 0, 0, this.last);
    this.to = clamp(to ?? this.last, this.from, this.last);
  }

  has(sweep: number): boolean {
    return sweep >= this.from && sweep <= this.to;
  }

  show(from: number, to: number): void {
    const span = clamp(Math.round(to - from), Math.min(LEAST_SWEEPS, this.last), this.last);
    this.from = clamp(Math.round(from), 0, this.last - span);
    this.to = this.from + span;
  }

  /** @param around stays where it is; the middle if it is outside */
  zoom(factor: number, around: number): void {
    const span = Math.max(1, this.to - this.from);
    const center = this.has(around) ? around : (this.from + this.to) / 2;
    const share = (center - this.from) / span;
    this.show(center - share * span * factor, center + (1 - share) * span * factor);
  }

  /** Moves, as wide as it is, to where a sweep is in it. */
  reach(sweep: number): void {
    const from = sweep < this.from ? sweep : sweep - (this.to - this.from);
    if (!this.has(sweep)) this.show(from, from + this.to - this.from);
  }
}
