const PLACEHOLDER = /\{([A-Za-z][\w.-]*)\}/;
const NUMBER = String.raw`([-+]?\d[\d_,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)`;
const UNIT = /^(?:ms|us|ns|s)$/;

/**
 * The name in a pattern such as `latency: {ms} ms`: of the metric, or of its unit, as which it is the latency.
 * @returns null when there is not just one name in braces, or nothing else
 */
export function patternName(pattern: string): string | null {
  const [head = '', name, tail = '', ...more] = pattern.split(PLACEHOLDER);
  if (name === undefined || more.length > 0 || (head + tail).trim() === '') return null;
  return UNIT.test(name) ? `latency_${name}` : name;
}

/** Its text matches itself, each space for any white space, the name for a number. */
export function expressionOf(pattern: string): string {
  const [head = '', , tail = ''] = pattern.split(PLACEHOLDER);
  return `${literal(head)}${NUMBER}${literal(tail)}`;
}

function literal(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`).replaceAll(/\s+/g, String.raw`\s+`);
}
