import { textWidth } from '../terminal/text-width.ts';
import type { Io } from './io.ts';

/** Lines at the end of a terminal that replace themselves. */
export class RedrawnLines {
  private readonly io: Io;
  private drawn: readonly string[] = [];

  constructor(io: Io) {
    this.io = io;
  }

  get isEmpty(): boolean {
    return this.drawn.length === 0;
  }

  /** @param staying lines that stay above, in the same write */
  draw(staying: readonly string[], lines: readonly string[]): void {
    const text = [...staying, ...lines].map((line) => `${line}\n`).join('');
    this.io.err(`${this.eraser()}${text}`);
    this.drawn = lines;
  }

  /** A terminal that became narrower wraps the lines. */
  private eraser(): string {
    const { columns } = this.io.errLook;
    const rows = this.drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(textWidth(line) / columns)), 0);
    return rows === 0 ? '' : `\u001b[${rows}A\u001b[0J`;
  }
}
