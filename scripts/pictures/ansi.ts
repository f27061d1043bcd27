/** How a piece of terminal text looks; colours are numbers of the 16, null the terminal's own. */
export interface Look {
  readonly foreground: number | null;
  readonly background: number | null;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
}

/** A piece of a line in one look. */
export interface Span extends Look {
  readonly text: string;
}

export const PLAIN: Look = {
  foreground: null,
  background: null,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
};

// oxlint-disable-next-line no-control-regex -- escape sequences begin with a control character
const LINK = /\u001b\]8;[^\u0007\u001b]*(?:\u0007|\u001b\\)/g;
// oxlint-disable-next-line no-control-regex -- as above
const COLOUR = /\u001b\[([\d;]*)m/;

/**
 * Lines of spans from text with the 16 colours of ECMA-48 (SGR). A look goes on over the end of a line, as on a terminal.
 * Links lose their target. Any other escape throws: a picture must not leave out what a terminal would show.
 */
export function readAnsi(text: string): Span[][] {
  let look = PLAIN;
  return text
    .replaceAll(LINK, '')
    .split('\n')
    .map((line) => {
      const spans: Span[] = [];
      for (const [index, part] of line.split(COLOUR).entries()) {
        // `split` with a group: text and what the group caught take turns.
        if (index % 2 === 1) look = part.split(';').reduce(changed, look);
        else if (part !== '') append(spans, { ...look, text: checked(part) });
      }
      return spans;
    });
}

function checked(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(text)) {
    throw new Error(`no picture of this: ${JSON.stringify(text)}`);
  }
  return text;
}

function append(spans: Span[], span: Span): void {
  const last = spans.at(-1);
  if (last !== undefined && isSameLook(last, span)) {
    spans[spans.length - 1] = { ...last, text: last.text + span.text };
  } else spans.push(span);
}

function isSameLook(a: Look, b: Look): boolean {
  return KEYS.every((key) => a[key] === b[key]);
}

const KEYS = ['foreground', 'background', 'bold', 'dim', 'italic', 'underline'] as const;

/** ECMA-48, 8.3.117; 90 to 107 are the bright colours of xterm. */
function changed(look: Look, code: string): Look {
  const number = Number(code);
  const simple = SIMPLE.get(number);
  if (simple !== undefined) return { ...look, ...simple };
  const unit = number % 10;
  const ground = new Map<number, Partial<Look>>([
    [3, { foreground: unit }],
    [4, { background: unit }],
    [9, { foreground: unit + 8 }],
    [10, { background: unit + 8 }],
  ]).get((number - unit) / 10);
  if (unit <= 7 && ground !== undefined) return { ...look, ...ground };
  throw new Error(`no picture of colour code ${code}`);
}

const SIMPLE: ReadonlyMap<number, Partial<Look>> = new Map<number, Partial<Look>>([
  [0, PLAIN],
  [1, { bold: true }],
  [2, { dim: true }],
  [3, { italic: true }],
  [4, { underline: true }],
  [22, { bold: false, dim: false }],
  [23, { italic: false }],
  [24, { underline: false }],
  [39, { foreground: null }],
  [49, { background: null }],
]);
