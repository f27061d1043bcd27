/** A fenced block of a Markdown file. */
export interface Block {
  readonly language: string;
  /** Line numbers in the file, from 0: the first line inside the fence, and the closing fence. */
  readonly start: number;
  readonly end: number;
  readonly lines: readonly string[];
}

export function blocksOf(text: string): Block[] {
  const lines = text.split('\n');
  const blocks: Block[] = [];
  let open: { language: string; start: number } | null = null;
  for (const [index, line] of lines.entries()) {
    const fence = /^```(\w*)$/.exec(line);
    if (fence === null) continue;
    if (open === null) open = { language: fence[1] ?? '', start: index + 1 };
    else {
      blocks.push({ ...open, end: index, lines: lines.slice(open.start, index) });
      open = null;
    }
  }
  return blocks;
}

/** A command of a `console` block with the output that stands under it; null when that is left open by `…`. */
export type Step = { readonly command: string; readonly output: readonly string[] | null };

export function stepsOf(lines: readonly string[]): Step[] {
  const steps: { command: string; output: string[] | null }[] = [];
  for (const line of lines) {
    const last = steps.at(-1);
    if (line.startsWith('$ ')) steps.push({ command: line.slice(2), output: [] });
    else if (last !== undefined && line === '…') last.output = null;
    else last?.output?.push(line);
  }
  return steps;
}

/** Words as a shell splits them, for the quotes that the documents use; a comment ends the line. */
export function wordsOf(command: string): string[] {
  return [...command.replace(/\s+# .*$/, '').matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? '',
  );
}

export const linksOf = (text: string): string[] =>
  [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, path = '']) => path);
