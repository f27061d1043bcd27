import { join } from 'node:path';

import { BENCH, bench, programsOnPath, ROOT, runProcess } from './processes.ts';
import type { Benchmark, Row, Target } from './row.ts';
import { inTemporaryFolder } from './temporary-folder.ts';
import { medianTimesMs, milliseconds } from './timing.ts';
import { sized } from './size.ts';

const ROUNDS = sized(25, 1);
const OLDEST_NODE = [22, 15] as const;

/** How long a person waits for an answer, as wall time of whole processes, beside a Node that does nothing. */
export const startUp: Benchmark = { name: 'start-up', run: () => inTemporaryFolder(measure) };

async function measure(folder: string): Promise<Row[]> {
  const db = join(folder, 'bench.sqlite');
  await bench(['run', join('matrices', 'quickstart.yaml'), '--db', db]);
  await bench(['run', join('matrices', 'quickstart.yaml'), '--replay', 'night2', '--db', db]);
  const older = await olderNode();
  const times = await medianTimesMs(
    {
      nothing: async () => (await runProcess(process.execPath, ['-e', '0'])).wallMs,
      version: async () => (await bench(['--version'])).wallMs,
      compare: async () => (await bench(['compare', '--db', db])).wallMs,
      handOver: async () => (older === null ? 0 : handOver(older.path)),
    },
    ROUNDS,
  );
  const row = (what: string, ours: number, target: Target | null): Row => ({
    kind: 'measured',
    what,
    against: 'node -e 0',
    ratio: ours / times.nothing,
    unit: '×',
    target,
    ours: milliseconds(ours),
    theirs: milliseconds(times.nothing),
  });
  return [
    row('bench --version', times.version, { atMost: 1.5 }),
    row('bench compare, quickstart store', times.compare, { atMost: 6 }),
    ...(older === null ? [] : [row(`bench --version, handed over by Node ${older.version}`, times.handOver, null)]),
  ];
}

/** `bench` started by a Node that is too old for it and gives its place to this one. */
async function handOver(older: string): Promise<number> {
  const { wallMs } = await runProcess(older, [BENCH, '--version'], { env: { BENCH_NODE: process.execPath } });
  return wallMs;
}

/** The first Node on PATH that is too old for this program. */
async function olderNode(): Promise<{ path: string; version: string } | null> {
  for (const path of programsOnPath('node')) {
    const { stdout } = await runProcess(path, ['--version'], { cwd: ROOT });
    const version = stdout.trim().replace(/^v/, '');
    const [major = 0, minor = 0] = version.split('.').map(Number);
    const [oldestMajor, oldestMinor] = OLDEST_NODE;
    if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
      return { path, version };
    }
  }
  return null;
}
