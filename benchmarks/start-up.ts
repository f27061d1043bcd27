import { join } from 'node:path';

import { BENCH, bench, programsOnPath, ROOT, runProcess } from './processes.ts';
import { type Benchmark, type Row, type Target, versus } from './row.ts';
import { inTemporaryFolder, medianTimesMs, sized } from './timing.ts';

const ROUNDS = sized(25, 1);
/** 22.15 */
const OLDEST_NODE = 2215;

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
      // `bench` started by a Node that is too old for it and gives its place to this one.
      handOver: async () => {
        const env = { BENCH_NODE: process.execPath };
        return older === null ? 0 : (await runProcess(older.path, [BENCH, '--version'], { env })).wallMs;
      },
    },
    ROUNDS,
  );
  const row = (what: string, ours: number, target: Target | null): Row =>
    versus(what, 'node -e 0', [ours, times.nothing], target);
  return [
    row('bench --version', times.version, { atMost: 1.5 }),
    row('bench compare, quickstart store', times.compare, { atMost: 6 }),
    ...(older === null ? [] : [row(`bench --version, handed over by Node ${older.version}`, times.handOver, null)]),
  ];
}

/** The first Node on PATH that is too old for this program. */
async function olderNode(): Promise<{ path: string; version: string } | null> {
  for (const path of programsOnPath('node')) {
    const { stdout } = await runProcess(path, ['--version'], { cwd: ROOT });
    const version = stdout.trim().replace(/^v/, '');
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (100 * major + minor < OLDEST_NODE) return { path, version };
  }
  return null;
}
