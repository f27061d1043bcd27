/**
 * The branch that a CI job is about, for a job works on a detached head. A job for a tag is of no branch.
 * @param env of the process: variables of GitHub, GitLab and Jenkins
 */
export function ciBranch(env: Readonly<Record<string, string | undefined>>): string | null {
  const isTag = env['GITHUB_REF_TYPE'] === 'tag' || Boolean(env['CI_COMMIT_TAG']);
  const names = [
    // For a pull request the ref name is that of the merge, `12/merge`.
    env['GITHUB_HEAD_REF'],
    ...(isTag ? [] : [env['GITHUB_REF_NAME'], env['CI_COMMIT_REF_NAME']]),
    env['BRANCH_NAME'],
  ];
  return names.find((name) => name !== undefined && name !== '') ?? null;
}
