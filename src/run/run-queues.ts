import type { PlannedRun } from '../records/plan.ts';

/** The runs that wait for each of several lanes. */
export class RunQueues {
  private readonly queues: PlannedRun[][];
  private readonly laneOf: (cellKey: string) => number;
  private readonly closed = new Set<number>();

  /** @param laneOf place of the lane that measures a cell */
  constructor(lanes: number, laneOf: (cellKey: string) => number) {
    this.queues = Array.from({ length: lanes }, () => []);
    this.laneOf = laneOf;
  }

  get isEmpty(): boolean {
    return this.queues.every((queue) => queue.length === 0);
  }

  get openLanes(): number {
    return this.queues.length - this.closed.size;
  }

  waiting(lane: number): readonly PlannedRun[] {
    return this.queues[lane] ?? [];
  }

  add(runs: readonly PlannedRun[]): void {
    const moved = new Map<string, number>();
    for (const run of runs) {
      const own = this.laneOf(run.cellKey);
      // All runs of a cell go to one lane.
      const lane = this.closed.has(own) ? (moved.get(run.cellKey) ?? this.shortest()) : own;
      moved.set(run.cellKey, lane);
      this.queues[lane]?.push(run);
    }
  }

  next(lane: number): PlannedRun | undefined {
    return this.queues[lane]?.shift();
  }

  /** A lane takes no more runs: what waits for it goes to the others. */
  close(lane: number, again: readonly PlannedRun[]): readonly PlannedRun[] {
    const left = [...(this.queues[lane] ?? []), ...again];
    this.queues[lane] = [];
    this.closed.add(lane);
    this.add(left);
    return left;
  }

  private shortest(): number {
    const open = this.queues.map((queue, lane) => ({ lane, seconds: secondsOf(queue) }));
    const [first] = open.filter(({ lane }) => !this.closed.has(lane)).toSorted((a, b) => a.seconds - b.seconds);
    return first?.lane ?? 0;
  }
}

function secondsOf(queue: readonly PlannedRun[]): number {
  return queue.reduce((sum, { estimateS }) => sum + estimateS, 0);
}
