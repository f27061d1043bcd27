/** ASCII for signs: one column each, except for those that are usually written with more. */
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

/** Replaces the signs of bench by ASCII for a terminal without Unicode. Names keep their letters. */
export function asciiText(text: string): string {
  return text.replaceAll(/[^\p{ASCII}\p{L}]|µ/gu, (sign) => SIGNS[sign] ?? sign);
}
