import type { OnnxDimension, OnnxFacts } from '../../tools/onnx/facts.ts';
import { shellQuote } from '../../text/shell-quote.ts';

export interface SuggestedShapes {
  /** What may stand after `shapes:` of a model in a matrix. */
  readonly shapes: string;
  /** `--shapes=…` with 1 for each dynamic dimension, as a shell reads it; null when trtexec takes none. */
  readonly trtexecFlag: string | null;
}

/** Shapes for the inputs with dynamic dimensions; only they need any. */
export function suggestedShapes({ inputs }: OnnxFacts): SuggestedShapes {
  const dynamic = inputs.flatMap(({ name, shape }) =>
    shape === null || shape.every((dimension) => typeof dimension === 'number') ? [] : [{ name, shape }],
  );
  if (dynamic.length === 0) return { shapes: 'static', trtexecFlag: null };
  const templates = dynamic.map(({ name, shape }) => `${yamlKey(name)}: [${shape.map(matrixDimension).join(', ')}]`);
  const filled = dynamic.map(
    ({ name, shape }) => `${name}:${shape.map((size) => (typeof size === 'number' ? size : 1)).join('x')}`,
  );
  return { shapes: `{${templates.join(', ')}}`, trtexecFlag: shellQuote(`--shapes=${filled.join(',')}`) };
}

/** A word that a matrix takes as an axis; an unnamed leading dimension is most likely the batch. */
function matrixDimension(dimension: OnnxDimension, place: number): string {
  if (typeof dimension === 'number') return String(dimension);
  if (dimension === null) return place === 0 ? 'batch' : `dim${place}`;
  const word = dimension.replaceAll(/\W+/g, '_').replace(/^(?=\d)/, '_');
  return /[A-Za-z]/.test(word) ? word : `dim${place}`;
}

function yamlKey(name: string): string {
  return /^[A-Za-z_][\w./-]*$/.test(name) ? name : JSON.stringify(name);
}
