import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { bench, finished, sharedFolder, startBench } from '../../support/bench.ts';
import { pageDataIn } from '../../support/page-data.ts';
import { simulatedCells, simulateNights } from '../../support/simulated-store.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

describe('bench serve', () => {
  const cells = simulatedCells(2);
  const value = (cell: number): number => 1 + cell;
  let db: string;
  let server: ChildProcess;
  let ended: ReturnType<typeof finished>;
  let port: number;

  beforeAll(async () => {
    db = join(sharedFolder(), 'bench.sqlite');
    simulateNights(db, { cells, nights: 3, repeats: 2, value });
    server = startBench(['serve', '--port', '0', '--db', db, '--json']);
    ended = finished(server);
    port = await new Promise<number>((resolve, reject) => {
      let text = '';
      server.stdout?.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        const [, found] = /http:\/\/127\.0\.0\.1:(\d+)\//.exec(text) ?? [];
        if (found !== undefined) resolve(Number(found));
      });
      server.on('close', () => reject(new Error('it ended before it listened')));
    });
  });

  afterAll(() => {
    server.kill('SIGKILL');
  });

  function ask(path: string, method = 'GET', host = `127.0.0.1:${port}`): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const requested = request({ host: '127.0.0.1', port, path, method, headers: { host } });
      requested.on('error', reject);
      requested.on('response', (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => (body += chunk.toString()));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
      });
      requested.end();
    });
  }

  test('the page is that of bench report, with a policy that lets nothing else in', async () => {
    const { status, headers, body } = await ask('/');
    expect(status).toBe(200);
    const { stdout } = await bench(['report', '--html', '--db', db]);
    expect(pageDataIn(body)).toEqual(pageDataIn(stdout));
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'content-type': 'text/html; charset=utf-8',
    });
    expect((await ask('/', 'HEAD')).body).toBe('');
  });

  test.each([
    ['evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['127.0.0.1', 403],
  ])('a page of %j cannot read it under a name of its own', async (host, status) => {
    const answer = await ask('/', 'GET', host);
    expect([answer.status, answer.body.includes('vit')]).toEqual([status, false]);
    expect((await ask('/', 'GET', `LOCALHOST:${port}`)).status).toBe(200);
  });

  test.each([
    '/../../../../etc/passwd',
    '/%2e%2e/package.json',
    '//etc/passwd',
    '/dist/page.js',
    'http://evil.example/',
  ])('no path is a file: %s', async (path) => {
    const { status, body } = await ask(path);
    expect([status, body]).toEqual([404, 'nothing here; the report is at /\n']);
  });

  test.each(['POST', 'OPTIONS'])('%s: read-only', async (method) => {
    const { status, headers } = await ask('/', method);
    expect([status, headers['allow']]).toEqual([405, 'GET, HEAD']);
  });

  test('it listens on loopback alone', () => {
    const hex = port.toString(16).toUpperCase().padStart(4, '0');
    const listening = ['/proc/net/tcp', '/proc/net/tcp6']
      .flatMap((path) => readFileSync(path, 'utf8').split('\n'))
      .filter((line) => line.includes(`:${hex} `) && / 0A /.test(line));
    expect(listening.map((line) => line.trim().split(/\s+/)[1])).toEqual([`0100007F:${hex}`]);
  });

  test('a port that is taken is one line, exit code 3', async () => {
    const { code, stdout, stderr } = await bench(['serve', '--port', String(port), '--db', db]);
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toContain('--port 0 takes a free one');
  });

  test('what comes into the store is there on the next look', async () => {
    const before = await ask('/version');
    simulateNights(db, { cells, nights: 2, repeats: 2, value, after: 3 });
    const after = await ask('/version');
    expect(after.body).not.toBe(before.body);
    expect(pageDataIn((await ask('/')).body).sweeps).toHaveLength(5);
  });

  test('Ctrl-C ends it, exit code 0', async () => {
    server.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 0, signal: null });
  });
});
