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
    expect(await bindToNode('auto', 1, env)).toEqual({ prefix, note: null });
    expect(await bindToNode('auto', null, env)).toEqual({ prefix: [], note: null });
    expect(await bindToNode('off', 1, env)).toEqual({ prefix: [], note: null });
  });

  test('another one can be named, which is told; one that is not there is not used', async () => {
    const env = withNumactl();
    const note = 'runs are bound to NUMA node 0, their GPU hangs on node 1';
    expect(await bindToNode(0, 1, env)).toEqual({ prefix: ['numactl', '--cpunodebind=0', '--membind=0'], note });
    const expected = { prefix: [], note: 'NUMA node 7 does not exist: runs are not bound to a NUMA node' };
    expect(await bindToNode(7, 1, env)).toEqual(expected);
  });

  test('without numactl runs are measured all the same', async () => {
    const note = 'numactl is missing or does not answer: runs are not bound to a NUMA node';
    expect(await bindToNode('auto', 1, { PATH: temporaryFolder() })).toEqual({ prefix: [], note });
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
});
