import { askGit } from './git.ts';

export interface RangeCommit {
  readonly commit: string;
  readonly parents: readonly string[];
  /** The first line of its message, as somebody wrote it: not safe to print. */
  readonly subject: string;
}

/** The top folder of the repository that a folder is in; null when it is in none. */
export async function repositoryFolder(cwd: string): Promise<string | null> {
  const answer = await askGit(cwd, ['rev-parse', '--show-toplevel']);
  return answer.kind === 'answered' ? answer.text.replace(/\n$/, '') : null;
}

/**
 * The commits on every line of history from `good` to `bad`, without `good`, parents before their children. What was
 * merged from lines that began before `good` is not among them: there the merge itself is what can be tested.
 */
export async function commitRange(cwd: string, good: string, bad: string): Promise<RangeCommit[]> {
  const answer = await askGit(cwd, [
    '-c',
    'log.showSignature=false',
    'log',
    '--ancestry-path',
    '--topo-order',
    '--reverse',
    '--format=%H%x09%P%x09%s',
    '--end-of-options',
    `${good}..${bad}`,
  ]);
  const lines = answer.kind === 'answered' ? answer.text.split('\n') : [];
  return lines.flatMap((line) => {
    const [commit, parents = '', ...subject] = line.split('\t');
    if (commit === undefined || commit === '') return [];
    return [{ commit, parents: parents.split(' ').filter((parent) => parent !== ''), subject: subject.join('\t') }];
  });
}

/** The first line of a commit's message. */
export async function subjectOf(cwd: string, commit: string): Promise<string> {
  const args = ['-c', 'log.showSignature=false', 'log', '--max-count=1', '--format=%s'];
  const answer = await askGit(cwd, [...args, '--end-of-options', commit]);
  return answer.kind === 'answered' ? answer.text.replace(/\n$/, '') : '';
}
