import type { Facts } from './facts.ts';

/** The table of `--dumpProfile`, in any of its three layouts. */
export class ProfileFacts {
  private readonly facts: Facts = new Map();
  private columns: readonly string[] | null = null;
  private nameLast = false;
  private rows = 0;

  constructor(iterations: string, line: number) {
    this.facts.set('profile.iterations', { text: iterations, line });
  }

  take(text: string, line: number): void {
    if (this.columns === null) this.takeHeading(text);
    else this.takeRow(this.columns, text, line);
  }

  private takeHeading(text: string): void {
    if (!text.includes('Layer')) return;
    this.nameLast = text.trimEnd().endsWith('Layer');
    this.columns = text.includes('Median')
      ? ['timeMs', 'averageMs', 'medianMs', 'percentage']
      : ['timeMs', 'averageMs', 'percentage'];
  }

  private takeRow(columns: readonly string[], text: string, line: number): void {
    const words = text.trim().split(/ +/);
    const width = columns.length;
    const numbers = this.nameLast ? words.slice(0, width) : words.slice(-width);
    if (numbers.length < width || !numbers.every((word) => /^[-+.\deinfa]+$/.test(word))) return;
    const name = this.nameLast
      ? text.replace(/^ */, '').slice(lengthOfWords(text, width) + '   '.length)
      : text.slice(0, text.length - lengthOfWordsFromEnd(text, width)).trim();
    if (name === 'Total') return;
    columns.forEach((column, index) => {
      this.facts.set(`profile.${this.rows}.${column}`, { text: numbers[index] ?? '', line });
    });
    this.facts.set(`profile.${this.rows}.name`, { text: name, line });
    this.rows += 1;
  }

  finish(): Facts {
    return this.rows === 0 ? new Map() : this.facts;
  }
}

/** Characters of the first words of a text with the spaces between them, without those in front. */
function lengthOfWords(text: string, words: number): number {
  return new RegExp(`^(?:\\S+ +){${words - 1}}\\S+`).exec(text.replace(/^ */, ''))?.[0].length ?? 0;
}

function lengthOfWordsFromEnd(text: string, words: number): number {
  return new RegExp(`(?:\\S+ +){${words - 1}}\\S+ *$`).exec(text)?.[0].length ?? 0;
}
