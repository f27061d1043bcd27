import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import type Database from 'better-sqlite3';

import { appliedMigration } from './migrations.ts';
import { openToRead } from './open-to-read.ts';
import type { SweepId } from '../../records/scalars.ts';

/** Several stores in one folder share the folder of artefacts next to them. Backups are none of them. */
export class SiblingStores {
  private readonly clients: Database.Database[] = [];

  constructor(path: string) {
    const names = readdirSync(dirname(path)).filter(
      (name) => name.endsWith('.sqlite') && !name.endsWith('.backup.sqlite') && name !== basename(path),
    );
    for (const name of names) {
      const client = openStoreAt(join(dirname(path), name));
      if (client !== null) this.clients.push(client);
    }
  }

  runsOf(sweepId: SweepId): Set<string> {
    return new Set(
      this.clients.flatMap((client) =>
        client.prepare<[string], string>('SELECT run_id FROM runs WHERE sweep_id = ?').pluck().all(sweepId),
      ),
    );
  }

  hasSweep(sweepId: SweepId): boolean {
    return this.clients.some(
      (client) => client.prepare('SELECT 1 FROM sweeps WHERE sweep_id = ?').get(sweepId) !== undefined,
    );
  }

  close(): void {
    for (const client of this.clients) client.close();
  }
}

function openStoreAt(path: string): Database.Database | null {
  let client: Database.Database | null = null;
  try {
    client = openToRead(path);
    if (appliedMigration(client) > 0) return client;
  } catch {
    // Not a store: irrelevant for our artefacts.
  }
  client?.close();
  return null;
}
