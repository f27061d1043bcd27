import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { writeAtomically } from '../../artefacts/files.ts';
import { isRecord } from '../../text/unknown-values.ts';

/** Which bundle of a shard is in the store, by its hash: another one is no news, and must not look like it. */
export class KnownBundles {
  private readonly path: string;
  private readonly hashes: Map<string, string>;
  private isChanged = false;

  constructor(sweepFolder: string) {
    this.path = join(sweepFolder, 'bundles.json');
    this.hashes = new Map(existsSync(this.path) ? readHashes(this.path) : []);
  }

  get shards(): ReadonlySet<number> {
    return new Set([...this.hashes.keys()].map(Number));
  }

  of(shard: number): string | null {
    return this.hashes.get(String(shard)) ?? null;
  }

  add(shard: number, sha256: string): void {
    if (this.of(shard) === sha256) return;
    this.hashes.set(String(shard), sha256);
    this.isChanged = true;
  }

  async save(): Promise<void> {
    if (!this.isChanged) return;
    await writeAtomically(this.path, `${JSON.stringify(Object.fromEntries(this.hashes), null, 1)}\n`);
  }
}

function readHashes(path: string): [string, string][] {
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (!isRecord(parsed)) return [];
    return Object.entries(parsed).flatMap(([shard, sha256]): [string, string][] =>
      typeof sha256 === 'string' ? [[shard, sha256]] : [],
    );
  } catch {
    return [];
  }
}
