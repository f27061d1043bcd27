/** One job array: tasks are counted from 0 in each, the offset makes shards of them. */
export interface ArrayChunk {
  readonly offset: number;
  readonly shards: readonly number[];
  /** Limit of its tasks at once; null for none. */
  readonly parallel: number | null;
  /** The chunk, by its place, that must end before this one starts; null for none. */
  readonly after: number | null;
}

/**
 * Cuts shards into arrays that Slurm takes. A limit of tasks at once holds within one array only, so it is shared out;
 * where there are more arrays than that, some wait for others.
 * @param maxTasks of one array: its indices go from 0 to one less
 */
export function chunkShards(shards: readonly number[], maxTasks: number, maxParallel: number | null): ArrayChunk[] {
  const groups = [...Map.groupBy(shards, (shard) => Math.floor(shard / maxTasks)).entries()];
  const lanes = maxParallel === null ? groups.length : Math.min(maxParallel, groups.length);
  return groups.map(([number, members], place) => ({
    offset: number * maxTasks,
    shards: members,
    parallel: maxParallel === null ? null : shareOf(maxParallel, lanes, place % lanes),
    after: place < lanes ? null : place - lanes,
  }));
}

/** 5 among 2: 3 and 2. */
function shareOf(total: number, parts: number, place: number): number {
  return Math.floor(total / parts) + (place < total % parts ? 1 : 0);
}

/** `0-7%2`, `3,7,9-12`: what `sbatch --array` takes. */
export function arraySpec({ offset, parallel, shards }: ArrayChunk): string {
  const limit = parallel === null || parallel >= shards.length ? '' : `%${parallel}`;
  return `${rangesOf(shards.map((shard) => shard - offset))}${limit}`;
}

/** `3,7,9-12` */
export function rangesOf(numbers: readonly number[]): string {
  const ranges: { from: number; to: number }[] = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && number === last.to + 1) last.to = number;
    else ranges.push({ from: number, to: number });
  }
  return ranges.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`)).join(',');
}
