/**
 * A number with its unit, such as `90s`, `1.5 h` or `20GB`, in the unit of the scales; null for anything else.
 * @param scales what each unit represents, in small letters
 */
export function readQuantity(text: string, scales: ReadonlyMap<string, number>): number | null {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/.exec(text.trim()) ?? [];
  const scale = scales.get(unit);
  return number === undefined || scale === undefined ? null : Number(number) * scale;
}
