import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { bench, finished, sharedFolder, startBench, refusal, temporaryFolder } from '../../support/bench.ts';
import { pageDataIn } from '../../support/page-data.ts';
import { simulatedCells, simulateNights, normals } from '../../support/simulated-store.ts';
import { jsonOf, OUTPUTS } from '../../support/outputs.ts';

type Answer = { readonly status: number; readonly headers: Readonly<Record<string, unknown>>; readonly body: string };

describe('bench serve', () => {
  const cells = simulatedCells(2);
  const value = (cell: number): number => 1 + cell;
  const db = join(sharedFolder(), 'bench.sqlite');
  let server: ChildProcess;
  let ended: ReturnType<typeof finished>;
  let port: number;

  beforeAll(async () => {
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

  afterAll(() => server.kill('SIGKILL'));

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
  ])('a page of %j cannot read it under a name of its own', async (host, status) => {
    const answer = await ask('/', 'GET', host);
    expect([answer.status, answer.body.includes('vit')]).toEqual([status, false]);
    expect((await ask('/', 'GET', `LOCALHOST:${port}`)).status).toBe(200);
  });

  test.each(['/../../../../etc/passwd', '/%2e%2e/package.json', '/dist/page.js', 'http://evil.example/'])(
    'no path is a file: %s',
    async (path) => expect(await ask(path)).toMatchObject({ status: 404, body: 'not found; the report is at /\n' }),
  );

  test('read-only', async () => {
    const { status, headers } = await ask('/', 'POST');
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
    expect(stderr).toContain('--port 0 chooses a free one');
  });

  test('what comes into the store is there on the next look', async () => {
    simulateNights(db, { cells, nights: 2, repeats: 2, value, after: 3 });
    expect(pageDataIn((await ask('/')).body).sweeps).toHaveLength(5);
  });

  test('Ctrl-C ends it, exit code 0', async () => {
    server.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 0, signal: null });
  });
});

const LAYERS = ['conv1', 'conv2', 'conv3'];

/**
 * Ten cells under TensorRT 10.6 and 10.16, six runs each: eight are 4 % faster, one is 10 % slower, of one no run
 * works. The engine of cell 0 has another kernel, that of cell 1 another accuracy.
 */
function simulateUpgrade(path: string, repeats = 6): void {
  const normal = normals(3);
  const factorOf = (cell: number): number => (cell === 8 ? 1.1 : 0.96);
  simulateNights(path, {
    cells: simulatedCells(10),
    nights: 2,
    repeats,
    machine: (night) => ({ tensorrt: night === 0 ? '10.6.0' : '10.16.1' }),
    value: (cell, night) =>
      cell === 9 && night === 1 ? null : (1 + cell) * (night === 0 ? 1 : factorOf(cell)) * (1 + 1e-3 * normal()),
    engine: (cell, night) => ({
      buildId: `${cell}${night}`.padStart(32, 'd'),
      engineMib: night === 0 ? 100 : 110,
      sqnrDb: cell === 1 && night === 1 ? 24 : 30,
      layers: LAYERS.map((name, place) => ({
        name: cell === 0 && night === 1 && place === 0 ? 'conv1_other' : name,
        ms: 0.1,
        origins: [`/net/${name}`],
      })),
    }),
  });
}

describe('bench report --upgrade', () => {
  const cwd = sharedFolder();
  const upgrade = (...args: string[]) =>
    bench(['report', '--upgrade', ...args, '--db', join(cwd, 'bench.sqlite')], { cwd, env: { COLUMNS: '120' } });

  beforeAll(() => simulateUpgrade(join(cwd, 'bench.sqlite')));

  test('two versions of TensorRT: the comparison, and what speaks against an upgrade', async () => {
    const { code, stdout } = await upgrade('trt=10.6', 'trt=10.16', '--json');
    expect(code).toBe(1);
    const { against, ...found } = OUTPUTS.upgrade.parse(JSON.parse(stdout));
    const lessAccurate = found.cells.find(({ label }) => label.startsWith('vit fp8 2x3'))?.label ?? '';
    expect(against).toEqual([
      '1 cell that ran before: no result',
      `accuracy fell in ${lessAccurate} 30.0 dB → 24.0 dB`,
      '1 slower cell',
    ]);
    expect(found.counts).toMatchObject({ faster: 8, slower: 1, failed: 1 });
    const args = ['compare', 'trt=10.6', 'trt=10.16', '--across-tensorrt', '--db', join(cwd, 'bench.sqlite')];
    expect(found).toEqual(await jsonOf(OUTPUTS.compare, args));
  });

  test('in the terminal, as Markdown and on the page', async () => {
    const { stdout } = await upgrade('trt=10.6', 'trt=10.16');
    expect(stdout).toMatch(/^reasons against an upgrade: 1 cell that ran before: no result, accuracy fell in vit/);
    const { stdout: md } = await upgrade('trt=10.6', 'trt=10.16', '--md');
    expect(md).toContain('> reasons against an upgrade: 1 cell that ran before: no result');
    expect(md).toContain('vit fp16 9x3x224x224');
    const page = await upgrade('trt=10.6', 'trt=10.16', '--html', 'u.html');
    expect([page.stdout, page.stderr]).toEqual([stdout, 'wrote u.html\n']);
    expect(readFileSync(join(cwd, 'u.html'), 'utf8')).toContain('1 of 10 cells slower by 10.0');
  });

  test('without a verdict nothing is said for the move', async () => {
    const db = join(temporaryFolder(), 'bench.sqlite');
    simulateUpgrade(db, 1);
    const { stdout } = await bench(['report', '--upgrade', 'trt=10.16', 'trt=10.6', '--db', db]);
    expect(stdout).toMatch(/^not known yet: no cell has a verdict\n/);
  });

  test('a move back: what failed there works, and is not held against it', async () => {
    const { stdout } = await upgrade('trt=10.16', 'trt=10.6', '--json');
    const { against, counts } = OUTPUTS.upgrade.parse(JSON.parse(stdout));
    expect([against, counts.slower, counts.faster]).toEqual([[expect.stringMatching(/slower cell/)], 8, 1]);
  });

  test.each([
    [['trt=10.6'], '--upgrade takes two sides'],
    [['trt=10.6', 'trt=10.1'], 'trt=10.1: no finished sweep was measured there'],
  ])('%j is one clear line', async (args, line) => expect(await upgrade(...args)).toEqual(refusal(line)));

  test('driver= and gpu= choose as well, by a part of the name and whole numbers of a version', async () => {
    const { stdout, code } = await upgrade('trt=10.6,driver=580,gpu=simulated', 'latest', '--json');
    expect([code, OUTPUTS.upgrade.parse(JSON.parse(stdout)).counts.slower]).toEqual([1, 1]);
    expect((await upgrade('driver=58', 'latest')).code).toBe(2);
  });
});
