import { cpSync, rmSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, finished, startBench, temporaryFolder, sharedFolder, temporaryStore } from '../../support/bench.ts';
import { fakeHarnessMatrix } from '../../support/fake-harness.ts';
import { writtenPids } from '../../support/processes.ts';
import { FIXTURES, readFixture } from '../../support/recordings.ts';
import { dumpTables } from '../../support/store-dump.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';

/** A folder with a store, which holds what one or more commands left. */
interface Case {
  readonly name: string;
  /** Leaves `bench.sqlite` and `artefacts/` in the folder. */
  readonly make: (folder: string) => Promise<void>;
  /** What is in no artefact, and so is not rebuilt: columns by table; `*` is the whole table. */
  readonly lost?: Readonly<Record<string, readonly string[]>>;
}

async function run(folder: string, args: readonly string[], rules: unknown = []): Promise<number> {
  const db = join(folder, 'bench.sqlite');
  const { code, stderr } = await bench(['run', ...args, '--db', db], { env: { STUB_RULES: JSON.stringify(rules) } });
  if (code === null || ![0, 4].includes(code)) throw new Error(stderr);
  return code;
}

const stubRun = (folder: string): string[] => [stubMatrix(folder, ['repeats: 2']), '--trtexec', STUB, '--seed', '3'];

const CASES: readonly Case[] = [
  {
    name: 'a build that left no engine',
    make: async (folder) => {
      expect(await run(folder, stubRun(folder), [{ when: '--saveEngine', does: 'noEngine' }])).toBe(4);
    },
  },
  {
    name: 'a run that failed',
    make: async (folder) => {
      expect(await run(folder, stubRun(folder), [{ when: '--shapes=input:8x3', does: 'fails' }])).toBe(4);
    },
  },

  {
    name: 'a command as its harness',
    make: async (folder) => void (await run(folder, [fakeHarnessMatrix(folder, 110)])),
  },
  { name: 'recorded runs', make: async (folder) => void (await run(folder, ['matrices/quickstart-pair.yaml'])) },
  {
    name: 'logs of somebody else, with a note',
    make: async (folder) => {
      const said = ['--note', 'from the old machine', '--commit', 'abcdef1', '--branch', 'main'];
      const ended = await bench(['import', join(FIXTURES, 'failures'), ...said, '--db', join(folder, 'bench.sqlite')]);
      expect([ended.code, ended.stderr]).toEqual([0, '']);
    },
  },
  {
    name: 'two sweeps, of which one was interrupted and resumed, and one was interrupted before its first run',
    make: async (folder) => {
      await run(folder, stubRun(folder));
      await interrupted(folder, '--loadEngine');
      await run(folder, ['--resume']);
      rmSync(join(folder, 'engines'), { recursive: true });
      await interrupted(folder, '--saveEngine');
    },
    // Starts that a kill cut off left nothing; the program of the plan is as it was.
    lost: { attempts: ['*'] },
  },
];

/** Ctrl-C while a process whose command line has this flag hangs. */
async function interrupted(folder: string, flag: string): Promise<void> {
  const pids = join(folder, `pids${flag}`);
  const child = startBench(['run', ...stubRun(folder), '--db', join(folder, 'bench.sqlite')], {
    env: { STUB_RULES: JSON.stringify([{ when: flag, does: 'stubborn' }]), STUB_PIDS: pids },
  });
  const ended = finished(child);
  await writtenPids(pids);
  child.kill('SIGINT');
  expect((await ended).code).toBe(130);
}

/** Commands whose answers must be the same. */
const ANSWERS = ['ls sweeps', 'ls cells', 'compare --json', 'check --json', 'show latest --json'];

async function answers(db: string): Promise<unknown[]> {
  const reported = await Promise.all(ANSWERS.map((args) => bench([...args.split(' '), '--db', db])));
  return reported.map(({ code, stdout, stderr }, index) => ({
    args: ANSWERS[index],
    code,
    stdout: stdout.replaceAll(db, 'DB'),
    stderr: stderr.replaceAll(db, 'DB'),
  }));
}

test.each(CASES)('a store made from artefacts alone: $name', { timeout: 120_000 }, async ({ make, lost = {} }) => {
  const folder = temporaryFolder();
  await make(folder);
  const original = join(folder, 'bench.sqlite');
  const moved = temporaryFolder();
  cpSync(join(folder, 'artefacts'), join(moved, 'artefacts'), { recursive: true });
  const rebuilt = join(moved, 'bench.sqlite');
  const inPlace = await bench(['import', join(moved, 'artefacts'), '--db', rebuilt]);
  expect([inPlace.code, inPlace.stderr]).toEqual([0, '']);
  expect([tables(rebuilt, lost), await answers(rebuilt)]).toEqual([tables(original, lost), await answers(original)]);
  // From elsewhere, with the artefacts copied; and once more from that copy.
  const copy = join(temporaryFolder(), 'bench.sqlite');
  await bench(['import', join(folder, 'artefacts'), '--db', copy]);
  expect(tables(copy, lost)).toEqual(tables(original, lost));
  rmSync(copy);
  await bench(['import', join(copy, '..', 'artefacts'), '--db', copy]);
  expect(tables(copy, lost)).toEqual(tables(original, lost));
});

const tables = (db: string, lost: Readonly<Record<string, readonly string[]>>): unknown =>
  Object.fromEntries(Object.entries(dumpTables(db, lost)).filter(([table]) => !lost[table]?.includes('*')));

describe('an import that was interrupted', () => {
  const LOGS = 300;
  /** When it was imported, which orders sweeps without a date. */
  const BY_THE_CLOCK = { sweep_imports: ['imported_at'] };

  const shared = sharedFolder();
  const logs = join(shared, 'logs');
  let whole: ReturnType<typeof dumpTables>;

  beforeAll(async () => {
    mkdirSync(logs);
    const log = readFixture('formats/default-run/stdout.log.br').toString('utf8');
    // In another order than that of their content, so that places in it are told apart.
    for (let index = 0; index < LOGS; index += 1) writeFileSync(join(logs, `${index}.log`), `${log}\n${index}\n`);
    whole = await imported(join(shared, 'bench.sqlite'));
  });

  async function imported(db: string): Promise<ReturnType<typeof dumpTables>> {
    expect(await bench(['import', logs, '--sweep', 'logs', '--db', db])).toMatchObject({ code: 0, stderr: '' });
    return dumpTables(db, BY_THE_CLOCK);
  }

  test.each(['SIGKILL', 'SIGINT'] as const)('%s in the middle, then the same again: the same rows', async (signal) => {
    const { folder, db } = temporaryStore();
    const child = startBench(['import', logs, '--sweep', 'logs', '--db', db]);
    const ended = finished(child);
    while (keptIn(join(folder, 'artefacts')) < LOGS / 3) await sleep(1);
    child.kill(signal);
    expect([(await ended).code, await imported(db)]).toEqual([signal === 'SIGINT' ? 130 : null, whole]);
  });

  /** Folders of runs, finished or not. */
  function keptIn(artefacts: string): number {
    if (!existsSync(artefacts)) return 0;
    const sweeps = readdirSync(artefacts).filter((name) => !name.startsWith('.'));
    return sweeps.reduce((sum, sweep) => sum + readdirSync(join(artefacts, sweep)).length, 0);
  }
});
