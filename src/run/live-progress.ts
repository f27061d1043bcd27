import type { Plan } from '../records/plan.ts';
import type { SweepEvent } from './sweep-context.ts';
import { Progress } from './progress.ts';
import { textWidth } from '../terminal/text-width.ts';
import type { TrtexecProgram } from '../trtexec/program/find-trtexec.ts';
import type { Io } from '../cli/io.ts';

const REDRAW_MS = 1000;

export class LiveProgress {
  private readonly io: Io;
  private readonly progress: Progress;
  private readonly timer: NodeJS.Timeout | null;
  /** Lines at the end of the terminal that replace themselves. */
  private drawn: readonly string[] = [];

  constructor(plan: Plan, { recordings }: Pick<TrtexecProgram, 'recordings'>, io: Io) {
    this.io = io;
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
    if (this.drawn.length > 0) this.draw([this.progress.end(this.io.now().getTime())], []);
  }

  private redraw(staying: string | null): void {
    this.draw(staying === null ? [] : [staying], this.progress.live(this.io.now().getTime()));
  }

  /** One write. A terminal that became narrower has wrapped the lines drawn before. */
  private draw(staying: readonly string[], lines: readonly string[]): void {
    const { columns } = this.io.errLook;
    const rows = this.drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(textWidth(line) / columns)), 0);
    const eraser = rows === 0 ? '' : `\u001b[${rows}A\u001b[0J`;
    const text = [...staying, ...lines].map((line) => `${line}\n`).join('');
    this.io.err(`${eraser}${text}`);
    this.drawn = lines;
  }
}

const TROUBLE = ['variantFailed', 'buildFailed', 'note', 'gpuTakenOut', 'measuredAgain', 'runSkipped'];

function isTrouble(event: SweepEvent): boolean {
  return TROUBLE.includes(event.kind) || (event.kind === 'runDone' && event.outcome.kind !== 'measured');
}
