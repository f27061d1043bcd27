import { createContext, Script } from 'node:vm';

import type { LayerFacts } from '../../layers/layer-facts.ts';
import { UsageError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import { isRecord } from '../../text/unknown-values.ts';

type Selectable = Pick<LayerFacts, 'name' | 'origins' | 'tactic' | 'type'>;

/**
 * Layers with a text in their names, ONNX nodes, types or tactics; ignores case.
 * @throws UsageError for an invalid regular expression, or one that takes too long
 */
export function selectLayers<Layer extends Selectable>(
  layers: readonly Layer[],
  pattern: string | undefined,
  isRegex: boolean,
): readonly Layer[] {
  if (pattern === undefined) return layers;
  if (isRegex) return matchingLayers(layers, pattern);
  const parts = pattern.toLowerCase().split('*');
  return layers.filter((layer) => textsOf(layer).some((text) => holdsInOrder(text.toLowerCase(), parts)));
}

function textsOf({ name, origins, tactic, type }: Selectable): string[] {
  return [name, type, tactic, ...origins].flatMap((text) => text ?? []);
}

function holdsInOrder(text: string, parts: readonly string[]): boolean {
  let at = 0;
  return parts.every((part) => {
    const found = text.indexOf(part, at);
    at = found + part.length;
    return found !== -1;
  });
}

const PATIENCE_MS = 2000;

/** Only another context with a timeout can stop a catastrophic pattern such as `(a+)+$`. */
const MATCH = new Script(
  'const expression = new RegExp(pattern, "iu"); texts.map((of) => of.some((text) => expression.test(text)))',
);

function matchingLayers<Layer extends Selectable>(layers: readonly Layer[], pattern: string): readonly Layer[] {
  const shown = printable(pattern);
  const context = createContext({ pattern: sourceOf(pattern), texts: layers.map(textsOf) });
  try {
    const answers: unknown = MATCH.runInContext(context, { timeout: PATIENCE_MS });
    const found: readonly unknown[] = Array.isArray(answers) ? answers : [];
    return layers.filter((_, place) => found[place] === true);
  } catch (error) {
    // Errors of the other context are not instances of the classes of this one.
    if (!isRecord(error) || error['code'] !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new UsageError(
      `--select ${shown}: not done after ${PATIENCE_MS / 1000} s: repetitions inside repetitions, as in (a+)+, take for ever`,
      { cause: error },
    );
  }
}

function sourceOf(pattern: string): string {
  try {
    return new RegExp(pattern, 'iu').source;
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^.*: /s, '') : '';
    throw new UsageError(`--select ${printable(pattern)}: not a regular expression: ${printable(reason)}`, {
      cause: error,
    });
  }
}
