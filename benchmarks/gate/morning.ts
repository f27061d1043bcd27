import { rmSync } from 'node:fs';
import { dirname } from 'node:path';

import { main } from '../../src/cli.ts';
import type { Checked } from '../../src/features/check/output.ts';
import { testIo } from '../../test/support/io.ts';
import { nightDate } from '../../test/support/simulated-store.ts';
import { absolute, type Row, type Target } from '../row.ts';

export type Morning = Pick<Checked, 'exitCode' | 'series' | 'findings'>;

/** What `bench check` says of a store on the morning after a sweep. @throws when it could not judge */
export async function checkedAfter(path: string, sweep: number): Promise<Morning> {
  let [printed, problems] = ['', ''];
  const code = await main(['check', '--db', path, '--json'], {
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

/** What is not known before. */
export function news({ findings }: Morning): Checked['findings'] {
  return findings.filter(({ state }) => state === 'new');
}

export function removeStore(path: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
}

/** A share in percent. */
export function share(
  what: string,
  against: string,
  [count, of]: readonly [number, number],
  target: Target,
  theirs = '',
): Row {
  return absolute(what, (100 * count) / of, ' %', target, { against, ours: `${count} of ${of}`, theirs });
}
