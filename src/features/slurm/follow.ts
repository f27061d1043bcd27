import { setTimeout as sleep } from 'node:timers/promises';

import { isHopeless, isOver, type ShardStatus } from '../../tools/slurm/states.ts';
import { changeLine, followLines, pendingLine, stateCounts } from './text.ts';
import type { ShardWatch } from './shard-status.ts';
import type { Io } from '../../cli/io.ts';
import { RedrawnLines } from '../../cli/redrawn-lines.ts';

/** Seconds between looks for finished folders, at first and at last. */
const FOLDERS_S = { first: 1, last: 5 };
const FIRST_POLL_S = 2;
/** Tasks submitted together must not poll together. */
const JITTER = 0.2;
const MAX_ROWS = 12;

export interface FollowSettings {
  readonly shards: number;
  /** How often Slurm is polled. */
  readonly pollS: number;
  readonly maxPendingS: number;
}

/** Follows a run until it can make no more progress. */
export async function follow(watch: ShardWatch, settings: FollowSettings, io: Io): Promise<void> {
  const shown = new Followed(settings, io);
  let [foldersS, pollS] = [FOLDERS_S.first, Math.min(FIRST_POLL_S, settings.pollS)];
  let nextPollMs = 0;
  try {
    for (;;) {
      io.signal.throwIfAborted();
      const areAllIn = (await watch.lookAtFolders()) === settings.shards;
      const nowMs = performance.now();
      if (areAllIn || nowMs >= nextPollMs) {
        const statuses = await watch.look();
        io.signal.throwIfAborted();
        shown.show(statuses);
        if (statuses.every((status) => isOver(status) || status.state === 'planned')) return;
        nextPollMs = performance.now() + pollS * 1000 * (1 + JITTER * (Math.random() - 0.5));
        pollS = Math.min(settings.pollS, pollS * 2);
      }
      await sleep(Math.min(foldersS, settings.pollS) * 1000, undefined, { signal: io.signal });
      foldersS = Math.min(FOLDERS_S.last, foldersS * 1.5);
    }
  } finally {
    shown.end();
  }
}

/** Redrawn lines on a terminal, a line per change elsewhere. */
class Followed {
  private readonly settings: FollowSettings;
  private readonly io: Io;
  private readonly screen: RedrawnLines;
  private counts = '';
  private readonly states = new Map<number, string>();
  private readonly queuedSinceMs = new Map<number, number>();
  private readonly warned = new Set<string>();

  constructor(settings: FollowSettings, io: Io) {
    this.settings = settings;
    this.io = io;
    this.screen = new RedrawnLines(io);
  }

  show(statuses: readonly ShardStatus[]): void {
    const { io } = this;
    const staying = [...this.troubles(statuses), ...this.warnings(statuses)];
    if (io.isInteractive) {
      this.screen.draw(staying, followLines(statuses, MAX_ROWS, io.errLook));
      return;
    }
    const counts = stateCounts(statuses);
    for (const line of staying) io.err(`${line}\n`);
    if (counts !== this.counts) io.err(`${counts}\n`);
    this.counts = counts;
  }

  end(): void {
    if (!this.screen.isEmpty) this.screen.draw([], []);
  }

  private troubles(statuses: readonly ShardStatus[]): string[] {
    return statuses.flatMap((status) => {
      const before = this.states.get(status.shard);
      this.states.set(status.shard, status.state);
      const isBad = isOver(status) && status.state !== 'done';
      return isBad && before !== status.state ? [changeLine(status)] : [];
    });
  }

  private warnings(statuses: readonly ShardStatus[]): string[] {
    const nowMs = this.io.now().getTime();
    const waiting = statuses.filter((status) => {
      if (status.state !== 'queued') {
        this.queuedSinceMs.delete(status.shard);
        return false;
      }
      const sinceMs = this.queuedSinceMs.get(status.shard) ?? nowMs;
      this.queuedSinceMs.set(status.shard, sinceMs);
      return isHopeless(status.reason) || nowMs - sinceMs > this.settings.maxPendingS * 1000;
    });
    return [...Map.groupBy(waiting, ({ reason }) => reason)].flatMap(([reason, members]) => {
      if (this.warned.has(reason)) return [];
      this.warned.add(reason);
      return [pendingLine(members, reason)];
    });
  }
}
