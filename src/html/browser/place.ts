/** The URL fragment after `#`: the selected cell and sweeps, so that links can be shared. */
export interface Place {
  readonly cell: string | null;
  readonly from: number | null;
  readonly to: number | null;
}

export function readPlace(hash: string): Place {
  const words = new URLSearchParams(hash.replace(/^#/, ''));
  const number = (name: string): number | null => {
    const text = words.get(name);
    return text !== null && /^\d{1,6}$/.test(text) ? Number(text) : null;
  };
  const cell = words.get('cell');
  return { cell: cell !== null && /^[0-9a-f]{4,32}$/.test(cell) ? cell : null, from: number('from'), to: number('to') };
}

export function placeHash({ cell, from, to }: Place): string {
  if (cell === null) return '';
  const range = from === null || to === null ? '' : `&from=${from}&to=${to}`;
  return `#cell=${cell}${range}`;
}
