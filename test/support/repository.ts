import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A git repository of its own, with a clock that goes on by one hour a commit. */
export class Repository {
  readonly folder: string;
  private commits = 0;

  constructor(folder: string) {
    this.folder = folder;
    this.git('init', '--quiet', '--initial-branch=main');
  }

  git(...args: readonly string[]): string {
    const date = `2026-11-01T${String(this.commits).padStart(2, '0')}:00:00Z`;
    return execFileSync('git', args, {
      cwd: this.folder,
      encoding: 'utf8',
      env: {
        PATH: process.env['PATH'],
        HOME: this.folder,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_AUTHOR_NAME: 'A',
        GIT_AUTHOR_EMAIL: 'a@example.com',
        GIT_COMMITTER_NAME: 'A',
        GIT_COMMITTER_EMAIL: 'a@example.com',
        GIT_AUTHOR_DATE: date,
        GIT_COMMITTER_DATE: date,
      },
    }).trim();
  }

  /** @returns the new commit's id */
  commit(content = String(this.commits)): string {
    writeFileSync(join(this.folder, 'file'), content);
    this.git('add', 'file');
    this.git('commit', '--quiet', '--allow-empty', '-m', `change ${this.commits}`);
    this.commits += 1;
    return this.git('rev-parse', 'HEAD');
  }

  /** A changed file that is not committed. */
  makeDirty(): void {
    writeFileSync(join(this.folder, 'file'), 'not committed');
  }
}
