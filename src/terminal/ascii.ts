/** One column each, but for those that everybody writes with more. */
const SIGNS: Readonly<Record<string, string>> = {
  '→': '->',
  '±': '+/-',
  '≥': '>=',
  '≤': '<=',
  '≠': '!=',
  '…': '~',
  '·': '|',
  '–': '-',
  '×': 'x',
  '✗': 'x',
  '✓': 'v',
  '▲': '^',
  '▼': 'v',
  '▸': '>',
  '○': 'o',
  '∅': '0',
  '°': ' ',
  µ: 'u',
  '²': '2',
  '█': '#',
  '▓': '#',
  '▒': '=',
  '░': '.',
  '─': '-',
  '│': '|',
  '└': '+',
  '┬': '+',
  '┤': '|',
};

/** For a terminal without Unicode: the signs of bench in ASCII; names keep their letters. */
export function asciiText(text: string): string {
  return text.replaceAll(/[^\p{ASCII}\p{L}]|µ/gu, (sign) => SIGNS[sign] ?? sign);
}
