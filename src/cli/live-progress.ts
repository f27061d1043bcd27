import type { SweepEvent } from '../run/sweep-context.ts';
import type { Plan } from '../records/plan.ts';
import { Progress } from '../terminal/progress.ts';
import type { TrtexecProgram } from '../trtexec/program/find-trtexec.ts';
import type { Io } from './io.ts';
import { RedrawnLines } from './redrawn-lines.ts';

const REDRAW_MS = 1000;

export class LiveProgress {
  private readonly io: Io;
  private readonly progress: Progress;
  private readonly timer: NodeJS.Timeout | null;
  private readonly screen: RedrawnLines;

  constructor(plan: Plan, { recordings }: Pick<TrtexecProgram, 'recordings'>, io: Io) {
    this.io = io;
    this.screen = new RedrawnLines(io);
    this.progress = new Progress(plan, recordings !== null, io.errLook, io.now().getTime());
    this.timer = io.isInteractive ? setInterval(() => this.redraw(null), REDRAW_MS).unref() : null;
  }

  /** @param gpu null where there is only one */
  take(event: SweepEvent, gpu: string | null = null): void {
    const line = this.progress.take(event, gpu);
    if (this.io.isInteractive) {
      // On a terminal only failures stay above; the final table lists the rest.
      this.redraw(isTrouble(event) ? line : null);
    } else if (line !== null) this.io.err(`${line}\n`);
  }

  /** Replaces the redrawn lines with a permanent one. */
  end(): void {
    if (this.timer !== null) clearInterval(this.timer);
    if (!this.screen.isEmpty) this.screen.draw([this.progress.end(this.io.now().getTime())], []);
  }

  private redraw(staying: string | null): void {
    this.screen.draw(staying === null ? [] : [staying], this.progress.live(this.io.now().getTime()));
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
