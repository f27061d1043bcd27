import type { DraftDimension, DraftModel } from './matrix-draft.ts';
import { printable } from '../../text/printable.ts';
import { nearest } from '../../text/nearest.ts';
import { Readable, addAbortSignal } from 'node:stream';
import { InterruptedError } from '../../errors.ts';
import type { Io } from '../../cli/io.ts';

export async function askDraft(models: readonly DraftModel[], questions: Questions): Promise<DraftModel[]> {
  const chosen = models.length === 1 ? [...models] : await askModels(models, questions);
  const answered: DraftModel[] = [];
  const sizes = new Map<string, DraftDimension>();
  for (const model of chosen) answered.push(await askModel(model, sizes, questions));
  return answered;
}

async function askModels(models: readonly DraftModel[], questions: Questions): Promise<DraftModel[]> {
  const names = models.map(({ name }) => name);
  const chosen = await questions.ask(
    `Which models, of ${names.map((name) => printable(name)).join(', ')}?`,
    'all',
    (answer) => (answer === 'all' ? { kind: 'value', value: names } : wordsOf(answer, names)),
  );
  return models.filter(({ name }) => chosen.includes(name));
}

async function askModel(
  model: DraftModel,
  sizes: Map<string, DraftDimension>,
  questions: Questions,
): Promise<DraftModel> {
  const name = printable(model.name);
  const all = [...model.precisions, ...model.others];
  const words = all.map(({ precision }) => precision);
  const wanted =
    all.length === 1
      ? words
      : await questions.ask(
          `${name}: which precisions, of ${words.join(', ')}?`,
          model.precisions.map(({ precision }) => precision).join(', '),
          (answer) => wordsOf(answer, words),
        );
  const dimensions: DraftDimension[] = [];
  for (const dimension of model.dimensions) {
    // The same name in another model most likely means the same.
    const known = sizes.get(dimension.name) ?? (await askSizes(name, dimension, questions));
    sizes.set(dimension.name, known);
    dimensions.push(known);
  }
  return {
    ...model,
    precisions: all.filter(({ precision }) => wanted.includes(precision)),
    others: all.filter(({ precision }) => !wanted.includes(precision)),
    dimensions,
  };
}

async function askSizes(model: string, dimension: DraftDimension, questions: Questions): Promise<DraftDimension> {
  const values = await questions.ask(
    `${model}: sizes of ${dimension.name} (${dimension.why})?`,
    dimension.values.join(', '),
    readSizes,
  );
  if (values.join() === dimension.values.join()) return dimension;
  const sorted = values.toSorted((a, b) => a - b);
  const [min = 1] = sorted;
  const max = sorted.at(-1) ?? min;
  const opt = sorted[Math.floor(sorted.length / 2)] ?? max;
  return { name: dimension.name, values, min, opt, max, why: null };
}

function readSizes(answer: string): Reading<number[]> {
  const values = answer.split(/[\s,]+/).map(Number);
  return values.every((value) => Number.isSafeInteger(value) && value > 0)
    ? { kind: 'value', value: [...new Set(values)] }
    : { kind: 'wrong', problem: `"${answer}": write whole numbers from 1 on, such as 1, 8, 32` };
}

function wordsOf<Word extends string>(answer: string, allowed: readonly Word[]): Reading<Word[]> {
  const words = answer.split(',').map((word) => word.trim());
  const wrong = words.find((word) => !allowed.some((each) => each === word));
  if (wrong === undefined) {
    return { kind: 'value', value: allowed.filter((each) => words.includes(each)) };
  }
  const guess = nearest(wrong, allowed);
  const meant = guess === null ? '' : `; did you mean ${guess}?`;
  return { kind: 'wrong', problem: `"${wrong}" is not one of ${allowed.join(', ')}${meant}` };
}

type Reading<Value> =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'wrong'; readonly problem: string };

/** One line per question; an empty answer takes the default. */
export class Questions {
  readonly #io: Io;
  readonly #chunks: AsyncIterator<Buffer>;
  #buffered = '';
  #isOver = false;

  constructor(io: Io) {
    this.#io = io;
    // Ctrl-C while it waits: without this the process would wait for the next line anyway.
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

  /** Releases standard input, which would keep the process alive. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  /** @throws InterruptedError at the end of the input */
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
