// Takes a lock again and again beside another process that does the same, and prints how often both had it at once:
// node lock-spans.ts FOLDER NAME OTHER_NAME SPANS
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { takeLockFile } from '../../src/process/lock-file.ts';

const [, , folder = '', name = '', other = '', spans = '0'] = process.argv;
const busy = join(folder, 'busy');
writeFileSync(join(folder, name), '');
while (!existsSync(join(folder, other))) {
  // Both begin at the same time.
}
let taken = 0;
let overlaps = 0;
while (taken < Number(spans)) {
  const attempt = takeLockFile(join(folder, 'gpu.lock'));
  if (attempt.kind !== 'taken') continue;
  taken += 1;
  try {
    writeFileSync(busy, '', { flag: 'wx' });
    // Long enough for the other one to come in between.
    for (let looks = 0; looks < 50; looks += 1) existsSync(busy);
    rmSync(busy);
  } catch {
    overlaps += 1;
  }
  attempt.unlock();
}
process.stdout.write(JSON.stringify({ taken, overlaps }));
