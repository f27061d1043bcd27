import { isOver, type ShardStatus } from '../../tools/slurm/names.ts';
import { isSettling } from '../../tools/slurm/states.ts';

/**
 * Which shards go to Slurm once more, and which are left alone as their results may still turn up.
 * @param refused shards whose folder was no good: no other will turn up
 */
export function shardsToResume(
  statuses: readonly ShardStatus[],
  refused: ReadonlySet<number>,
): { readonly again: readonly number[]; readonly settling: readonly number[] } {
  const settling = statuses.filter((status) => isSettling(status) && !refused.has(status.shard));
  const again = statuses.filter(
    (status) =>
      status.state !== 'done' &&
      (isOver(status) || status.state === 'planned' || isSettling(status)) &&
      !settling.includes(status),
  );
  return { again: shardsOf(again), settling: shardsOf(settling) };
}

function shardsOf(statuses: readonly ShardStatus[]): number[] {
  return statuses.map(({ shard }) => shard);
}
