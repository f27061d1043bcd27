import stringWidth from 'string-width';

// oxlint-disable-next-line no-control-regex -- printable ASCII
const ASCII = /^[\u0020-\u007e]*$/;

/** Columns that the text takes on a terminal. */
export function textWidth(text: string): number {
  return ASCII.test(text) ? text.length : stringWidth(text);
}

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The text in at most `width` columns; what is cut off leaves an ellipsis. */
export function truncate(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  if (width < 1) return '';
  let kept = '';
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    const next = used + textWidth(segment);
    if (next > width - 1) break;
    kept += segment;
    used = next;
  }
  return `${kept}…`;
}

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)));
}

export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - textWidth(text))) + text;
}
