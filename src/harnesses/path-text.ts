/** `['results', 0, 'name']` as `results[0].name`. */
export function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${String(step)}`))
    .join('');
}
