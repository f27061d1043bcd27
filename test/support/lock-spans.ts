// Takes a lock again and again while other processes do the same, and prints how often two of them had it at once:
// node lock-spans.ts FOLDER NUMBER PROCESSES SPANS
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';

import { acquire, Lock, tryAcquire } from '../../src/process/lock.ts';

const [, , folder = '', number = '', processes = '0', spans = '0'] = process.argv;
const busy = join(folder, 'busy');
const path = join(folder, 'gpu.lock');
const waiting = { signal: new AbortController().signal, onWait: () => {} };
writeFileSync(join(folder, `started-${number}`), '');
// All begin at the same time.
while (readdirSync(folder).filter((name) => name.startsWith('started-')).length < Number(processes)) await turn();
let taken = 0;
let overlaps = 0;
while (taken < Number(spans)) {
  const attempt = tryAcquire(path);
  const lock = attempt instanceof Lock ? attempt : await acquire(path, waiting);
  taken += 1;
  try {
    writeFileSync(busy, '', { flag: 'wx' });
    // Long enough for another one to come in between.
    for (let looks = 0; looks < 50; looks += 1) existsSync(busy);
    rmSync(busy);
  } catch {
    overlaps += 1;
  }
  lock.release();
}
process.stdout.write(JSON.stringify({ taken, overlaps }));
