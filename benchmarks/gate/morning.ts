import { rmSync } from 'node:fs';
import { dirname } from 'node:path';

import { main } from '../../src/cli.ts';
import type { Checked } from '../../src/features/check/output.ts';
import { testIo } from '../../test/support/io.ts';
import { nightDate } from '../../test/support/simulated-store.ts';

export type Morning = Pick<Checked, 'exitCode' | 'series' | 'findings'>;

/** What `bench check` says of a store on the morning after a sweep. @throws when it could not judge */
export async function checkedAfter(path: string, sweep: number, ...more: readonly string[]): Promise<Morning> {
  let [printed, problems] = ['', ''];
  const code = await main(['check', '--db', path, '--json', ...more], {
    ...testIo(),
    cwd: dirname(path),
    now: () => new Date(`${nightDate(sweep)}T08:00:00.000Z`),
    out: (text) => (printed += text),
    err: (text) => (problems += text),
  });
  if (printed === '') throw new Error(`bench check: exit code ${code}: ${problems}`);
  const checked: Morning = JSON.parse(printed);
  return checked;
}

/** Worse, and not known before. */
export function newlyWorse({ findings }: Morning): Checked['findings'] {
  return findings.filter(({ direction, state }) => state === 'new' && direction === 'slower');
}

export function removeStore(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
}
