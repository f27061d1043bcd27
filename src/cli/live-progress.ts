import type { SweepEvent } from '../run/sweep-context.ts';
import type { Plan } from '../records/plan.ts';
import { Progress } from '../terminal/progress.ts';
import type { Io } from './io.ts';

const REDRAW_MS = 1000;

export class LiveProgress {
  private readonly io: Io;
  private readonly progress: Progress;
  private readonly timer: NodeJS.Timeout | null;
  private drawn = 0;

  constructor(plan: Plan, io: Io) {
    this.io = io;
    this.progress = new Progress(plan, io.errLook, io.now().getTime());
    this.timer = io.isInteractive ? setInterval(() => this.redraw(null), REDRAW_MS).unref() : null;
  }

  /** @param gpu null where there is only one */
  take(event: SweepEvent, gpu: string | null = null): void {
    const line = this.progress.take(event, gpu);
    if (this.io.isInteractive) {
      // On a terminal only failures stay above; the final table has the rest.
      this.redraw(isTrouble(event) ? line : null);
    } else if (line !== null) this.io.err(`${line}\n`);
  }

  /** Replaces the redrawn lines by one that stays. */
  end(): void {
    if (this.timer !== null) clearInterval(this.timer);
    if (this.io.isInteractive && this.drawn > 0) {
      this.io.err(`${this.eraser()}${this.progress.end(this.io.now().getTime())}\n`);
    }
    this.drawn = 0;
  }

  private redraw(staying: string | null): void {
    const lines = this.progress.live(this.io.now().getTime());
    const above = staying === null ? '' : `${staying}\n`;
    this.io.err(`${this.eraser()}${above}${lines.join('\n')}\n`);
    this.drawn = lines.length;
  }

  private eraser(): string {
    return this.drawn === 0 ? '' : `\u001b[${this.drawn}A\u001b[0J`;
  }
}

function isTrouble(event: SweepEvent): boolean {
  return (
    event.kind === 'variantFailed' ||
    event.kind === 'buildFailed' ||
    event.kind === 'note' ||
    event.kind === 'gpuTakenOut' ||
    event.kind === 'measuredAgain' ||
    event.kind === 'runSkipped' ||
    (event.kind === 'runDone' && event.outcome.kind !== 'measured')
  );
}
