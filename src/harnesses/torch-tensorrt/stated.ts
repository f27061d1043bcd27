import { type Precision, PRECISIONS, type Shapes } from '../../records/cell.ts';

/** What the comments above a block say of its cell: `# FP8, batch size 256, CUDA graph on`. */
export function statedIn(comments: readonly string[]): {
  readonly precision: Precision | null;
  readonly shapes: Shapes | null;
  readonly cudaGraph: boolean | null;
} {
  const text = comments.join(', ').toLowerCase();
  const words = new Set(text.split(/[^a-z0-9]+/));
  const precisions = PRECISIONS.filter((precision) => precision !== 'best' && words.has(precision));
  const [precision] = precisions;
  const batch = /\bbatch(?:[ _-]?size)?\s*[:=]?\s*(\d+)/.exec(text)?.[1];
  const graph = /\bcuda[ _-]?graphs?\b\s*[:=]?\s*(on|off|enabled|disabled|true|false)?/.exec(text);
  return {
    // Two of them would be a guess.
    precision: precisions.length === 1 ? (precision ?? null) : null,
    shapes: batch === undefined ? null : { input: [Number(batch)] },
    cudaGraph: graph === null ? null : graphOf(text, graph),
  };
}

/** Comments that say something else, such as `Input(min_shape=(1, 3), opt_shape=(8, 3), max_shape=(32, 3))`. */
export function notesIn(comments: readonly string[]): string[] {
  return comments.filter((comment) => {
    const { cudaGraph, precision, shapes } = statedIn([comment]);
    const isStated = cudaGraph !== null || precision !== null || shapes !== null;
    return comment.trim() !== '' && (!isStated || /\b(?:min|opt|max)_shape\b/.test(comment));
  });
}

function graphOf(text: string, { index, 1: after }: RegExpExecArray): boolean | null {
  if (after !== undefined) return ['on', 'enabled', 'true'].includes(after);
  const before = /\b(no|without|with)\s*$/.exec(text.slice(0, index))?.[1];
  return before === undefined ? null : before === 'with';
}
