#!/usr/bin/env node
// Opens an issue for what is new:
//   gate: { notify: [node, recipes/github-issue.mjs, owner/repository] }
// $GITHUB_TOKEN may write issues there; in GitHub Actions: `permissions: { issues: write }`.
import { messageOf, readCheck } from './message.mjs';

const [repository = ''] = process.argv.slice(2);
if (!/^\w[\w.-]*\/\w[\w.-]*$/.test(repository)) fail('name the repository: owner/name');
const { subject, lines } = messageOf(await readCheck());
// In a block of code nothing is a mention, a link or markup.
const body = ['```text', ...lines.map((line) => line.replaceAll('`', "'")), '```'].join('\n');
const api = process.env.GITHUB_API_URL ?? 'https://api.github.com';
const response = await fetch(`${api}/repos/${repository}/issues`, {
  method: 'POST',
  headers: {
    Accept: 'application/vnd.github+json',
    Authorization: `Bearer ${process.env.GITHUB_TOKEN ?? fail('set GITHUB_TOKEN')}`,
    'X-GitHub-Api-Version': '2022-11-28',
  },
  body: JSON.stringify({ title: subject, body, labels: ['performance'] }),
  signal: AbortSignal.timeout(20_000),
});
if (!response.ok) fail(`GitHub answered ${response.status}`);

function fail(problem) {
  console.error(problem);
  process.exit(1);
}
