/** Words that only a shell understands. */
const OF_SHELL = new Set(['&&', '||', '|', ';', '&', '>', '>>', '<', '2>&1']);

/**
 * Splits a command line into words like a shell: by blanks, with '…', "…" and a backslash. Expands nothing.
 * @returns a text for a problem: no words, an open quote, or something for a shell
 */
export function commandWords(text: string): readonly string[] | string {
  const words: string[] = [];
  const shellWords: string[] = [];
  const word = /\s*((?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+)/gsy;
  let read = 0;
  for (let match = word.exec(text); match !== null; match = word.exec(text)) {
    const raw = match[1] ?? '';
    read = word.lastIndex;
    if (OF_SHELL.has(raw) || /[^;];$/.test(raw)) shellWords.push(raw);
    words.push(unquoted(raw));
  }
  if (text.slice(read).trim() !== '') return 'has a quote that is not closed';
  if (words.length === 0 || words[0] === '') return 'is empty';
  const [first] = shellWords;
  if (first !== undefined) return `runs without a shell, which "${first}" is for: put it into a script, or sh -c '...'`;
  return words;
}

function unquoted(raw: string): string {
  return raw.replaceAll(
    /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/gs,
    (_, single?: string, double?: string, escaped?: string) =>
      single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? escaped ?? '',
  );
}
