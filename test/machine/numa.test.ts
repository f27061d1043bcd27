import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { bindToNode } from '../../src/run/gpu-worker.ts';
import { bench, temporaryFolder, temporaryStore } from '../support/bench.ts';
import { queryStore } from '../support/store-dump.ts';
import { STUB, stubMatrix } from '../support/stub.ts';

/** A numactl of a machine with two nodes: it writes down its arguments and starts the program behind them. */
const NUMACTL = `#!${process.execPath}
const { spawnSync } = require('node:child_process');
const args = process.argv.slice(2);
if (args[0] === '--hardware') {
  console.log('available: 2 nodes (0-1)\\nnode 0 cpus: 0 1\\nnode 0 size: 32000 MB\\nnode 1 cpus: 2 3');
} else {
  const [file, ...rest] = args.slice(2);
  const { status } = spawnSync(file, rest, { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
`;

function withNumactl(): Record<string, string> {
  const bin = join(temporaryFolder(), 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'numactl'), NUMACTL);
  chmodSync(join(bin, 'numactl'), 0o755);
  return { PATH: [bin, process.env['PATH']].join(delimiter) };
}

describe('the NUMA node of a GPU', () => {
  test('auto binds to it, and to nothing where there is but one', async () => {
    const env = withNumactl();
    const prefix = ['numactl', '--cpunodebind=1', '--membind=1'];
    const unbound = { prefix: [], binding: null, note: null };
    expect(await bindToNode('auto', 1, env)).toEqual({ prefix, binding: 'node 1 (CPUs 2-3)', note: null });
    expect(await bindToNode('auto', null, env)).toEqual(unbound);
    expect(await bindToNode('off', 1, env)).toEqual(unbound);
  });

  test('another one can be named, which is told; one that is not there is not used', async () => {
    const env = withNumactl();
    const binding = 'node 0 (CPUs 0-1)';
    const note = `runs are bound to NUMA ${binding}, their GPU hangs on node 1`;
    const bound = ['numactl', '--cpunodebind=0', '--membind=0'];
    expect(await bindToNode(0, 1, env)).toEqual({ prefix: bound, binding, note });
    const missing = 'NUMA node 7 does not exist or has no CPU: runs are not bound';
    expect(await bindToNode(7, 1, env)).toEqual({ prefix: [], binding: null, note: missing });
  });

  test('CPUs can be named, with the memory next to them', async () => {
    const env = withNumactl();
    const prefix = ['numactl', '--physcpubind=3,0-1', '--localalloc'];
    const binding = 'node 0 and 1 (CPUs 0-1,3)';
    const note = `runs are bound to NUMA ${binding}, their GPU hangs on node 1`;
    expect(await bindToNode('cpus:3,0-1', 1, env)).toEqual({ prefix, binding, note });
    expect(await bindToNode('cpus:2', 1, env)).toMatchObject({ binding: 'node 1 (CPUs 2)', note: null });
    const missing = { prefix: [], note: 'cpus:2-4 do not all exist: runs are not bound' };
    expect(await bindToNode('cpus:2-4', 1, env)).toMatchObject(missing);
  });

  test('without numactl runs are measured all the same', async () => {
    const note = 'numactl is missing or does not answer: runs are not bound';
    expect(await bindToNode('auto', 1, { PATH: temporaryFolder() })).toMatchObject({ prefix: [], note });
  });

  test('the stored command line begins with it', async () => {
    const { folder, db } = temporaryStore();
    const matrix = stubMatrix(folder, ['repeats: 1', 'numa: 1']);
    const dry = await bench(['run', matrix, '--dry-run', '--trtexec', STUB], { env: withNumactl() });
    const planned = await bench(['plan', matrix, '--numa', '0', '--tensorrt', '10.6']);
    const begins = [dry, planned].map(({ stdout }) => new Set(stdout.match(/numactl.*(?= --onnx| --loadEngine)/g)));
    const [one, zero] = [1, 0].map((node) => `numactl --cpunodebind=${node} --membind=${node}`);
    expect(begins).toEqual([new Set([`${one} ${STUB}`]), new Set([`${zero} trtexec`])]);
    await bench(['run', matrix, '--trtexec', STUB, '--db', db, '--no-telemetry'], { env: withNumactl() });
    const rows = queryStore<{ argv: string }>(
      db,
      `SELECT argv FROM runs JOIN invocations USING (invocation_id) WHERE role = 'timed'`,
    );
    expect(rows).toHaveLength(2);
    for (const { argv } of rows) {
      const args: unknown = JSON.parse(argv);
      const expected = ['numactl', '--cpunodebind=1', '--membind=1', STUB];
      expect(Array.isArray(args) ? args.slice(0, 4) : null).toEqual(expected);
    }
  });

  test('the binding is stored, and compare and why name another one', async () => {
    const { folder, db } = temporaryStore();
    const matrix = stubMatrix(folder, ['repeats: 3']);
    const measured = ['--trtexec', STUB, '--db', db, '--no-telemetry'];
    const env = withNumactl();
    await bench(['run', matrix, '--numa', '1', ...measured], { env });
    await bench(['run', matrix, '--numa', 'cpus:0', ...measured], { env });
    const rows = queryStore<{ binding: string }>(db, 'SELECT DISTINCT binding FROM environments ORDER BY binding DESC');
    expect(rows.map(({ binding }) => binding)).toEqual(['node 1 (CPUs 2-3)', 'node 0 (CPUs 0)']);
    const change = 'bound to node 1 (CPUs 2-3) → node 0 (CPUs 0)';
    for (const command of [['compare'], ['why', 'small fp16 b8']]) {
      const { stdout } = await bench([...command, 'latest~1', 'latest', '--db', db], { env });
      expect(stdout.replaceAll(/\s+/g, ' ')).toContain(change);
    }
    const wrong = await bench(['run', matrix, '--numa', '0-3', ...measured]);
    expect(wrong.stderr).toContain('must be auto, off, the number of a node, or CPUs such as cpus:0-15');
  });
});
