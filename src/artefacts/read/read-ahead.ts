/** Waiting for files takes longer than parsing them, so this many are read while one is stored. */
const READ_AHEAD = 8;

/** Returns results in the order of the items, and throws in that order too. */
export async function* readAhead<Item, Result>(
  items: Iterable<Item>,
  read: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const reading: Promise<Result>[] = [];
  try {
    for (const item of items) {
      const result = read(item);
      result.catch(() => {});
      reading.push(result);
      if (reading.length <= READ_AHEAD) continue;
      const first = reading.shift();
      if (first !== undefined) yield await first;
    }
    for (let next = reading.shift(); next !== undefined; next = reading.shift()) yield await next;
  } finally {
    await Promise.allSettled(reading);
  }
}
