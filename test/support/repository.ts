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
    return this.gitWith('', args);
  }

  private gitWith(input: string, args: readonly string[]): string {
    const date = `2026-11-01T${String(this.commits).padStart(2, '0')}:00:00Z`;
    return execFileSync('git', args, {
      cwd: this.folder,
      encoding: 'utf8',
      input,
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

  /**
   * One more commit on main for each text of a file: all of them by one process.
   * @returns every commit of main, the oldest first
   */
  commitTexts(file: string, texts: readonly string[]): string[] {
    const stream = texts.map((text, index) => {
      const subject = `change ${this.commits}`;
      const seconds = Date.UTC(2026, 10, 1, this.commits) / 1000;
      this.commits += 1;
      const from = index === 0 ? 'from refs/heads/main^0\n' : '';
      const head = `commit refs/heads/main\ncommitter A <a@example.com> ${seconds} +0000\n${dataOf(subject)}${from}`;
      return `${head}M 100644 inline ${file}\n${dataOf(text)}`;
    });
    this.gitWith(stream.join(''), ['fast-import', '--quiet']);
    this.git('reset', '--quiet', '--hard', 'main');
    return this.git('log', '--reverse', '--format=%H', 'main').split('\n');
  }

  /** A changed file that is not committed. */
  makeDirty(): void {
    writeFileSync(join(this.folder, 'file'), 'not committed');
  }
}

/** As `git fast-import` reads it. */
const dataOf = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`;
