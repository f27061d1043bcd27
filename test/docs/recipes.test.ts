import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { describe, expect, onTestFinished, test } from 'vitest';

import { ROOT, temporaryFolder } from '../support/bench.ts';

const RECIPES = join(ROOT, 'docs', 'recipes');
const CHECK = {
  series: [{ headline: '2 cells slower: 1 new; 1 limit broken' }],
  findings: [
    {
      id: '1a2b3c4d'.padEnd(32, '0'),
      kind: 'change',
      state: 'new',
      direction: 'slower',
      matrix: 'nightly',
      labels: ['vit fp8 8x3', 'vit <!channel> `x`'],
      group: ['fp8'],
      metrics: [{ title: 'GPU compute time', unit: 'ms', changePercent: 4.96, before: 1, after: 1.0496 }],
      firstBad: { commit: '5a6b7c8d'.padEnd(40, '0') },
      commits: [{}, {}, {}],
      owner: 'team-vision',
    },
    {
      id: 'ffffffff'.padEnd(32, '0'),
      kind: 'limit',
      state: 'new',
      direction: 'slower',
      matrix: 'nightly',
      labels: ['a <!channel> `@team`\r\nBcc: everybody'],
      group: [],
      metrics: [{ title: 'latency p99', unit: 'ms', changePercent: 25, before: 2, after: 2.5 }],
      firstBad: null,
      commits: [],
      owner: null,
    },
    { direction: 'slower', state: 'open' },
    { direction: 'faster', state: 'new' },
    { direction: 'slower', state: 'recovered' },
  ],
  exitCode: 1,
};
const LINES = [
  '2 cells slower: 1 new; 1 limit broken',
  '',
  '1a2b3c4d 2 cells (fp8): GPU compute time +5.0 %, since 5a6b7c8d, 3 commits, owner team-vision',
  'ffffffff a <!channel> `@team`  Bcc: everybody: latency p99 2.5 ms, limit 2 ms',
];

type Ended = { readonly code: number | null; readonly stderr: string };

/** A recipe with the JSON of a check as its standard input. */
async function started(recipe: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  const child = spawn(process.execPath, [join(RECIPES, recipe), ...args], { env });
  const stderr = text(child.stderr);
  child.stdin.on('error', () => {});
  child.stdin.end(JSON.stringify(CHECK));
  return { code: await new Promise<number | null>((resolve) => child.on('close', resolve)), stderr: await stderr };
}

type Received = { readonly url: string | undefined; readonly headers: IncomingHttpHeaders; readonly body: unknown };

/** A server on this machine that keeps what it gets. */
async function server(status: number) {
  const received: Received[] = [];
  const listening = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ url: request.url, headers: request.headers, body: JSON.parse(body) });
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void listening.close());
  const address = listening.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { received, url: `http://127.0.0.1:${port}` };
}

describe('docs/recipes', () => {
  test('mail: a letter to each of the recipients, by sendmail', async () => {
    const folder = temporaryFolder();
    const sendmail = join(folder, 'sendmail');
    writeFileSync(sendmail, `#!/bin/sh\nprintf '%s|' "$@" > '${folder}/args'\ncat > '${folder}/mail'\n`, {
      mode: 0o755,
    });
    const PATH = '/usr/bin:/bin';
    const ended = await started('mail.mjs', ['ops@example.org', 'me@example.org'], { SENDMAIL: sendmail, PATH });
    expect(ended).toEqual({ code: 0, stderr: '' });
    expect(readFileSync(join(folder, 'args'), 'utf8')).toBe('-i|--|ops@example.org|me@example.org|');
    expect(readFileSync(join(folder, 'mail'), 'utf8').split('\n')).toEqual([
      'To: ops@example.org, me@example.org',
      'Subject: bench: 2 new findings in nightly',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 8bit',
      '',
      ...LINES,
      '',
    ]);
  });

  test('mail: a sendmail that fails or is not there is a failure', async () => {
    expect((await started('mail.mjs', ['a@example.org'], { SENDMAIL: 'false', PATH: '/usr/bin:/bin' })).code).toBe(1);
    const lacking = await started('mail.mjs', ['a@example.org'], { SENDMAIL: '/no/such/program' });
    expect([lacking.code, lacking.stderr]).toEqual([1, expect.stringContaining('ENOENT')]);
  });

  test('webhook: one post of text, in which nothing is a mention', async () => {
    const { received, url } = await server(200);
    expect(await started('webhook.mjs', [], { BENCH_WEBHOOK_URL: `${url}/hook` })).toEqual({ code: 0, stderr: '' });
    const escaped = LINES.join('\n').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    expect(received.map(({ url: path, body }) => [path, body])).toEqual([
      ['/hook', { text: `*bench: 2 new findings in nightly*\n${escaped}` }],
    ]);
  });

  test('webhook: a refusal is a failure, as is no address', async () => {
    const expected = { code: 1, stderr: 'the chat answered 403\n' };
    expect(await started('webhook.mjs', [], { BENCH_WEBHOOK_URL: (await server(403)).url })).toEqual(expected);
    expect(await started('webhook.mjs', [], {})).toEqual({ code: 1, stderr: 'set BENCH_WEBHOOK_URL\n' });
  });

  test('GitHub: an issue with a title, and the rest as code', async () => {
    const { received, url } = await server(201);
    const env = { GITHUB_API_URL: url, GITHUB_TOKEN: 'made-up' };
    expect(await started('github-issue.mjs', ['owner/repository'], env)).toEqual({ code: 0, stderr: '' });
    const [{ body, headers, url: path } = { body: null, headers: {}, url: '' }] = received;
    expect([path, headers.authorization]).toEqual(['/repos/owner/repository/issues', 'Bearer made-up']);
    expect(body).toEqual({
      title: 'bench: 2 new findings in nightly',
      body: ['```text', ...LINES.map((line) => line.replaceAll('`', "'")), '```'].join('\n'),
      labels: ['performance'],
    });
  });

  test('GitHub: a refusal is a failure, as is no repository', async () => {
    const env = { GITHUB_API_URL: (await server(404)).url, GITHUB_TOKEN: 'made-up' };
    const stderr = 'GitHub answered 404\n';
    expect(await started('github-issue.mjs', ['owner/repository'], env)).toEqual({ code: 1, stderr });
    expect((await started('github-issue.mjs', ['../x'], env)).stderr).toBe('name the repository: owner/name\n');
  });
});
