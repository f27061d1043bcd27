export type UnknownRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is UnknownRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Looks up a field of nested records by its path, such as `pci.pci_bus_id`. */
export function valueAt(value: unknown, path: string): unknown {
  let inner = value;
  for (const step of path.split('.')) {
    inner = isRecord(inner) && Object.hasOwn(inner, step) ? inner[step] : undefined;
  }
  return inner;
}

export function stringOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function isOneOf<const Word extends string>(words: readonly Word[], value: unknown): value is Word {
  return words.some((word) => word === value);
}

/** Keys of a literal table, whose keys are exactly those of its type. */
export function keysOf<Table extends object>(table: Table): (keyof Table & string)[];
export function keysOf(table: object): string[] {
  return Object.keys(table);
}

/** The object without undefined values. */
export function defined<T extends object>(value: T): { [Key in keyof T]: Exclude<T[Key], undefined> };
export function defined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined));
}
