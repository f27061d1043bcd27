import { join } from 'node:path';

import { bench, runProcess } from './processes.ts';
import { type Benchmark, type Row, versus } from './row.ts';
import { inTemporaryFolder, medianTimesMs, sized } from './timing.ts';

const ROUNDS = sized(25, 1);

/** How long a person waits for an answer, as wall time of whole processes, beside a Node that does nothing. */
export const startUp: Benchmark = { name: 'start-up', run: () => inTemporaryFolder(measure) };

async function measure(folder: string): Promise<Row[]> {
  const db = join(folder, 'bench.sqlite');
  await bench(['run', join('matrices', 'quickstart.yaml'), '--db', db]);
  await bench(['run', join('matrices', 'quickstart.yaml'), '--replay', 'night2', '--db', db]);
  const times = await medianTimesMs(
    {
      nothing: async () => (await runProcess(process.execPath, ['-e', '0'])).wallMs,
      version: async () => (await bench(['--version'])).wallMs,
      compare: async () => (await bench(['compare', '--db', db])).wallMs,
    },
    ROUNDS,
  );
  return [
    versus('bench --version', 'node -e 0', [times.version, times.nothing], { atMost: 1.5 }),
    versus('bench compare, quickstart store', 'node -e 0', [times.compare, times.nothing], { atMost: 6 }),
  ];
}
