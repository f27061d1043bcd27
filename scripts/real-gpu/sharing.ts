import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import Database from 'better-sqlite3';
import { execa } from 'execa';
import { z } from 'zod';

import { writeMatrix } from './matrices.ts';
import type { Visit } from './visit.ts';

/** A second process that keeps the GPU busy until it is ended: trtexec itself, with an engine of the store. */
export interface Contender {
  /** When it has its engine loaded, some two seconds after its start. */
  readonly isBusy: Promise<void>;
  stop(): Promise<void>;
}

export function startContender(visit: Visit): Contender {
  const [engine] = visit.engines();
  if (engine === undefined) throw new Error('no engine was built that a second process could load');
  const args = [
    `--loadEngine=${engine}`,
    '--shapes=input:32x3x224x224',
    '--duration=600',
    '--warmUp=0',
    '--infStreams=2',
  ];
  const child = execa(visit.place.trtexec, args, { reject: false, stdio: 'ignore' });
  return {
    isBusy: sleep(2500),
    stop: async () => {
      child.kill('SIGKILL');
      await child;
    },
  };
}

const rowSchema = z.object({ started_at: z.string(), wall_s: z.number(), gpu: z.string().nullable() });

interface Span {
  readonly gpu: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** When each run of these stores had its GPU. */
export function spansOf(stores: readonly string[]): Span[] {
  return stores.flatMap((path) => {
    const db = new Database(path, { readonly: true });
    const rows = db
      .prepare(
        `SELECT started_at, wall_s, gpu_uuid gpu FROM runs JOIN environments USING (environment_id)
          WHERE started_at IS NOT NULL AND wall_s IS NOT NULL`,
      )
      .all()
      .map((row) => rowSchema.parse(row));
    db.close();
    return rows.map(({ started_at, wall_s, gpu }) => {
      const startMs = Date.parse(started_at);
      return { gpu: gpu ?? '', startMs, endMs: startMs + 1000 * wall_s };
    });
  });
}

/** Runs that were on one GPU at the same time, by more than the millisecond that is stored. */
export function overlaps(stores: readonly string[]): { readonly runs: number; readonly pairs: number } {
  const spans = spansOf(stores).toSorted((a, b) => a.startMs - b.startMs);
  const pairs = spans.reduce((sum, first, place) => {
    const later = spans.slice(place + 1, place + 20);
    return sum + later.filter(({ gpu, startMs }) => gpu === first.gpu && startMs < first.endMs - 2).length;
  }, 0);
  return { runs: spans.length, pairs };
}

const ONE_CELL = { models: ['resnet'], batches: [1], repeats: 3 };

/** Another program on the GPU: every run of a sweep must say so. */
export async function checkSecondProcess(visit: Visit): Promise<void> {
  const contender = startContender(visit);
  try {
    await contender.isBusy;
    await visit.bench(['run', writeMatrix(visit, { ...ONE_CELL, name: 'contended' })]);
  } finally {
    await contender.stop();
  }
  const { contended, runs } = visit.contended();
  visit.check('is reported as contended', runs > 0 && contended === runs, `${contended} of ${runs} runs`);
}

/** Two bench with one store, then a third one with a store of its own: never two runs at one time. */
export async function checkAtOnce(visit: Visit): Promise<void> {
  const other = join(visit.place.folder, 'other.sqlite');
  const call = (name: string, ...more: readonly string[]) => [
    'run',
    writeMatrix(visit, { ...ONE_CELL, name }),
    ...more,
  ];
  const calls = [call('once'), call('twice'), call('thrice', '--db', other)];
  for (const many of [2, 3]) {
    const ended = await Promise.all(calls.slice(0, many).map((args) => visit.bench(args)));
    const codes = ended.map(({ code }) => code);
    const { runs, pairs } = overlaps(many === 2 ? [visit.store] : [visit.store, other]);
    visit.check(
      `${many}: no two runs at one time`,
      codes.every((code) => code === 0) && pairs === 0,
      `exit codes ${codes.join(' ')}; ${pairs} overlaps of ${runs} runs`,
    );
  }
}
