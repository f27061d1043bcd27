import { execFileSync, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { finished, ROOT, temporaryFolder } from '../support/bench.ts';

const SPANS = 4000;
const SCRIPT = join(ROOT, 'test', 'support', 'lock-spans.ts');
/** In a PID namespace of its own, as in a container: there it is process 1. */
const CONTAINED = ['unshare', '--pid', '--fork', '--mount-proc'];

function noContainerBecause(): string | null {
  const [file = '', ...args] = CONTAINED;
  try {
    execFileSync(file, [...args, 'true'], { stdio: 'pipe' });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const noContainer = noContainerBecause();
if (noContainer !== null) process.stderr.write(`no PID namespaces here: ${noContainer}\n`);

async function twoProcesses(wrapper: readonly string[]): Promise<unknown[]> {
  const folder = temporaryFolder();
  const ended = [
    ['a', 'b'],
    ['b', 'a'],
  ].map((names) => {
    const [file = '', ...args] = [...wrapper, process.execPath, SCRIPT, folder, ...names];
    return finished(spawn(file, [...args, String(SPANS)]));
  });
  const said = await Promise.all(ended);
  expect(readdirSync(folder).toSorted()).toEqual(['a', 'b']);
  return said.map(({ stdout, stderr }) => stdout || stderr);
}

describe('a lock that two processes take again and again', () => {
  const alone = JSON.stringify({ taken: SPANS, overlaps: 0 });

  test('is never held by both', async () => {
    expect(await twoProcesses([])).toEqual([alone, alone]);
  }, 120_000);

  test.skipIf(noContainer !== null)(
    'also not where both have the same number, in two containers',
    async () => {
      expect(await twoProcesses(CONTAINED)).toEqual([alone, alone]);
    },
    120_000,
  );
});
