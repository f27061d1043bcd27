import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import type { Io } from '../../cli/io.ts';
import { storePath } from '../../cli/store-location.ts';
import { notIgnored, repositoryFolder } from '../../tools/git/git.ts';
import type { InitOutput } from './output.ts';

/** What bench makes next to the store, and reports by the names that they have in the documents: patterns for git. */
const MADE = ['artefacts/', 'engines/', 'variants/', 'bench.sqlite*', 'report.html', 'report.md', 'report.xml'];

function pathOf(pattern: string): string {
  return pattern.replace('*', '');
}

/** Writes a `.gitignore` where there is none, for what git would add. */
export async function ignoreMade(io: Io): Promise<Pick<InitOutput, 'ignoreFile' | 'notIgnored'>> {
  const none = { ignoreFile: null, notIgnored: [] };
  // A store elsewhere has a folder of its own.
  if (dirname(storePath(undefined, io)) !== io.cwd) return none;
  const added = await notIgnored(io.cwd, MADE.map(pathOf));
  const patterns = MADE.filter((pattern) => added.includes(pathOf(pattern)));
  if (patterns.length === 0) return none;
  try {
    writeFileSync(join(io.cwd, '.gitignore'), `# made by bench\n${patterns.join('\n')}\n`, { flag: 'wx' });
    return { ignoreFile: '.gitignore', notIgnored: [] };
  } catch {
    // Without a repository nobody knows what it means.
    return (await repositoryFolder(io.cwd)) === null ? none : { ignoreFile: null, notIgnored: patterns };
  }
}
