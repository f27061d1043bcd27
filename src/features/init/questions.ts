import { Readable, addAbortSignal } from 'node:stream';

import { InterruptedError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import type { Io } from '../../cli/io.ts';

export type Reading<Value> =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'wrong'; readonly problem: string };

/** Asks on the terminal, one line for each question; an empty answer takes what is proposed. */
export class Questions {
  readonly #io: Io;
  readonly #chunks: AsyncIterator<Buffer>;
  #buffered = '';
  #isOver = false;

  constructor(io: Io) {
    this.#io = io;
    // Ctrl-C while it waits: without this the process would wait for the next line all the same.
    if (io.stdin instanceof Readable) addAbortSignal(io.signal, io.stdin);
    this.#chunks = io.stdin[Symbol.asyncIterator]();
  }

  async ask<Value>(question: string, proposed: string, read: (answer: string) => Reading<Value>): Promise<Value> {
    for (;;) {
      this.#io.err(`${question} [${printable(proposed)}] `);
      const line = (await this.#line()).trim();
      const answer = read(line === '' ? proposed : line);
      if (answer.kind === 'value') return answer.value;
      this.#io.err(`  ${printable(answer.problem)}\n`);
    }
  }

  /** Lets go of standard input: the process would not end before its end. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  /** @throws InterruptedError at the end of the input: nobody is there to answer. */
  async #line(): Promise<string> {
    for (;;) {
      const end = this.#buffered.indexOf('\n');
      if (end !== -1) {
        const line = this.#buffered.slice(0, end);
        this.#buffered = this.#buffered.slice(end + 1);
        return line;
      }
      if (this.#isOver) throw new InterruptedError('interrupted: nothing was written');
      const chunk = await this.#chunks.next();
      if (chunk.done === true) this.#isOver = true;
      else this.#buffered += chunk.value.toString();
    }
  }
}
