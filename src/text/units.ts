/**
 * A number with its unit, such as `90s`, `1.5 h` or `20GB`, in the unit of the scales; null for anything else.
 * @param scales factor of each unit, by its name in lower case
 */
export function readQuantity(text: string, scales: ReadonlyMap<string, number>): number | null {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/.exec(text.trim()) ?? [];
  const scale = scales.get(unit);
  return number === undefined || scale === undefined ? null : Number(number) * scale;
}

const BYTE_UNITS = new Map<string, number>([
  ['', 1],
  ...['k', 'm', 'g', 't'].flatMap((prefix, place): [string, number][] => [
    [prefix, 1000 ** (place + 1)],
    [`${prefix}i`, 1024 ** (place + 1)],
  ]),
]);

/** Reads `20GB`, `512MiB` or `1.5T` in bytes; null for anything else. */
export function readByteSize(text: string): number | null {
  const bytes = readQuantity(text.trim().toLowerCase().replace(/b$/, ''), BYTE_UNITS);
  return bytes === null ? null : Math.round(bytes);
}

const DURATION_UNITS = new Map([
  ['s', 1],
  ['m', 60],
  ['h', 3600],
]);

/** Reads `90s`, `30m` or `1.5h` in seconds; null for anything else, including 0. */
export function readDurationS(text: string): number | null {
  return readQuantity(text, DURATION_UNITS) || null;
}
