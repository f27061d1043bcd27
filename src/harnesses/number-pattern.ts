const PLACEHOLDER = /\{([A-Za-z][\w.-]*)\}/;
const NUMBER = String.raw`([-+]?\d[\d_,]*(?:\.\d+)?(?:[eE][-+]?\d+)?)`;
const UNIT = /^(?:ms|us|ns|s)$/;

/**
 * The name in a pattern such as `latency: {ms} ms`. It is the name of a metric, or a unit that makes it the latency in
 * this unit.
 * @returns null unless there is exactly one name in braces, and some other text
 */
export function patternName(pattern: string): string | null {
  const [head = '', name, tail = '', ...more] = pattern.split(PLACEHOLDER);
  if (name === undefined || more.length > 0 || (head + tail).trim() === '') return null;
  return UNIT.test(name) ? `latency_${name}` : name;
}

/**
 * Turns a pattern into a regular expression: text matches itself, a space matches any white space, and the name matches
 * a number.
 */
export function expressionOf(pattern: string): string {
  const [head = '', , tail = ''] = pattern.split(PLACEHOLDER);
  return `${literal(head)}${NUMBER}${literal(tail)}`;
}

function literal(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`).replaceAll(/\s+/g, String.raw`\s+`);
}
