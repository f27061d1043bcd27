/** The word in which the cursor is, at its end. */
export interface TypedWord {
  /** As the program would get it. */
  readonly text: string;
  /** The quote that is open at the cursor. */
  readonly quote: '"' | "'" | null;
  /** How much of the text stands before the place from which the shell replaces. */
  readonly kept: number;
}

export interface TypedLine {
  readonly words: readonly string[];
  /** Null when it is written in a way that nothing can be put behind it. */
  readonly current: TypedWord | null;
}

/**
 * Splits what was typed so far as bash does, as far as no variable or command in it would have to be evaluated.
 * @param breaks `$COMP_WORDBREAKS`: bash replaces from behind the last of these
 */
export function readTypedLine(line: string, breaks: string): TypedLine {
  const words: string[] = [];
  let word = new WordReader(breaks);
  for (const character of line) {
    if (word.isBetween && /\s/.test(character)) {
      if (word.isStarted) words.push(word.text);
      word = new WordReader(breaks);
    } else word.take(character);
  }
  return { words, current: word.typed() };
}

class WordReader {
  text = '';
  isStarted = false;
  readonly #breaks: string;
  #quote: '"' | "'" | null = null;
  #isEscaped = false;
  #kept = 0;
  /** A quote that stands elsewhere than at the very beginning, or was closed. */
  #isMixed = false;

  constructor(breaks: string) {
    this.#breaks = breaks;
  }

  /** A blank here ends the word. */
  get isBetween(): boolean {
    return this.#quote === null && !this.#isEscaped;
  }

  take(character: string): void {
    if (this.#isEscaped) this.#takeEscaped(character);
    else if (character === '\\' && this.#quote !== "'") this.#isEscaped = true;
    else if (character === this.#quote) {
      this.#quote = null;
      this.#isMixed = true;
    } else if (this.#quote === null && (character === '"' || character === "'")) {
      if (this.isStarted) this.#isMixed = true;
      this.#quote = character;
    } else {
      this.text += character;
      if (this.#quote === null && this.#breaks.includes(character)) this.#kept = this.text.length;
    }
    this.isStarted = true;
  }

  /** Inside of double quotes a backslash stays before anything but these. */
  #takeEscaped(character: string): void {
    this.#isEscaped = false;
    const stays = this.#quote === '"' && !/["$`\\\n]/.test(character);
    this.text += stays ? `\\${character}` : character;
  }

  typed(): TypedWord | null {
    if (this.#isMixed || this.#isEscaped) return null;
    return { text: this.text, quote: this.#quote, kept: this.#kept };
  }
}

/**
 * A value as it may stand at the cursor, from where bash replaces; null when it cannot be written there. Nothing of
 * it is ever evaluated: not a `$`, not a backquote, not a `!`.
 */
export function insertable(value: string, { kept, quote }: TypedWord): string | null {
  if (quote === "'") return value.includes("'") ? null : value;
  if (quote === '"') return /["$`\\!]/.test(value) ? null : value;
  // A tilde means somebody's home only where a word begins.
  return value.slice(kept).replaceAll(/(?<![\p{L}\p{N}])~|[^\p{L}\p{N}_@%+=:,./~-]/gu, String.raw`\$&`);
}
