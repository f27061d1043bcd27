import { appendFileSync, copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { expect, test } from 'vitest';

import { bench, finished, type Finished, startBench, temporaryFolder, temporaryStore } from '../support/bench.ts';
import { GpuMachine } from '../support/gpu-machine.ts';
import { model, toBytes, valueInfo } from '../support/onnx-writer.ts';
import { untilGone, writtenPids } from '../support/processes.ts';
import { queryStore } from '../support/store-dump.ts';
import { STUB, stubMatrix } from '../support/stub.ts';

test('Ctrl-C: ends the running process with its children, keeps what is done, and says how to go on', async () => {
  const folder = temporaryFolder();
  const pids = join(folder, 'pids');
  const matrix = stubMatrix(folder, ['repeats: 2']);
  const db = join(folder, 'bench.sqlite');
  const child = startBench(['run', matrix, '--trtexec', STUB, '--db', db, '--seed', '3'], {
    env: { STUB_RULES: JSON.stringify([{ when: '--shapes=input:8x3', does: 'stubborn' }]), STUB_PIDS: pids },
  });
  const ended = finished(child);
  const started = await writtenPids(pids);
  child.kill('SIGINT');
  const { code, stderr } = await ended;
  expect(code).toBe(130);
  expect(stderr).toMatch(/interrupted; what was measured is stored: continue with `bench run --resume \w{8}`/);
  for (const pid of started) await untilGone(pid);
  expect(queryStore(db, 'SELECT state FROM sweeps')).toEqual([{ state: 'interrupted' }]);
  const resumed = await bench(['run', '--resume', '--db', db]);
  expect([resumed.code, queryStore(db, `SELECT * FROM runs WHERE role = 'timed'`).length]).toEqual([0, 4]);
}, 60_000);

test('two processes cannot measure the same sweep at once', async () => {
  const { folder, db } = temporaryStore();
  const matrix = stubMatrix(folder, ['repeats: 4']);
  const journal = join(folder, 'journal');
  const first = startBench(['run', matrix, '--trtexec', STUB, '--db', db], {
    env: { STUB_DELAY_MS: '400', STUB_JOURNAL: journal },
  });
  const ended = finished(first);
  while (!existsSync(journal) || !readFileSync(journal, 'utf8').includes('--loadEngine')) await sleep(50);
  const other = await bench(['run', '--resume', '--db', db]);
  expect([other.code, other.stderr]).toEqual([0, expect.stringContaining('nothing to resume')]);
  const [sweep] = queryStore<{ sweep_id: string }>(db, 'SELECT sweep_id FROM sweeps');
  const named = await bench(['run', '--resume', sweep?.sweep_id.slice(0, 8) ?? '', '--db', db]);
  expect(named.code).toBe(2);
  expect([named.stderr, (await ended).code]).toEqual([expect.stringContaining('is being measured by process'), 0]);
}, 60_000);

test('--resume of a matrix that was never interrupted, and of one by its name', async () => {
  const { folder, db } = temporaryStore();
  await bench(['run', 'matrices/quickstart-pair.yaml', '--db', db]);
  const { code, stderr } = await bench(['run', 'matrices/quickstart-pair.yaml', '--resume', '--db', db]);
  expect([code, stderr]).toEqual([0, 'nothing to resume: no sweep was interrupted\n']);
  const unknown = await bench(['run', '--resume', 'ffffffff', '--db', db]);
  expect([unknown.code, unknown.stderr]).toEqual([2, 'bench: sweep ffffffff is not in this store\n']);
  writeFileSync(join(folder, 'empty.sqlite'), '');
  const none = await bench(['run', '--resume', '--db', join(folder, 'none.sqlite')]);
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('store not found') });
});

test('--resume of a sweep that ended with failures says how to measure the rest', async () => {
  const { folder, db } = temporaryStore();
  const env = { STUB_RULES: JSON.stringify([{ when: '--shapes=input:8x3', does: 'fails' }]) };
  await bench(['run', stubMatrix(folder, ['repeats: 2']), '--trtexec', STUB, '--db', db], { env });
  const [{ id = '' } = {}] = queryStore<{ id: string }>(db, 'SELECT substr(sweep_id, 1, 8) AS id FROM sweeps');
  const how = `measure the rest with \`bench run MATRIX --filter CELL\` (see bench show ${id})`;
  const { code, stderr } = await bench(['run', '--resume', id, '--db', db]);
  expect([code, stderr]).toEqual([2, `bench: sweep ${id} ended, with 2 failures: ${how}\n`]);
});

/** A sweep that was interrupted after its first timed run, with a trtexec and a machine of its own. */
class Interrupted {
  readonly machine = new GpuMachine(1);
  readonly matrix = stubMatrix(this.machine.folder, ['repeats: 2']);
  readonly trtexec = join(this.machine.folder, 'trtexec.mjs');
  private readonly db = join(this.machine.folder, 'bench.sqlite');
  private readonly journal = join(this.machine.folder, 'journal');

  constructor() {
    copyFileSync(STUB, this.trtexec);
    copyFileSync(join(dirname(STUB), 'stub-answer.mjs'), join(this.machine.folder, 'stub-answer.mjs'));
  }

  async begin(): Promise<this> {
    const args = ['run', this.matrix, '--trtexec', this.trtexec, '--db', this.db, '--no-telemetry'];
    const child = startBench(args, { env: { ...this.env, STUB_DELAY_MS: '500' } });
    const ended = finished(child);
    while (this.timedRuns < 2) await sleep(20);
    child.kill('SIGINT');
    const { code } = await ended;
    if (code !== 130) throw new Error(`not interrupted: it ended with ${code}`);
    return this;
  }

  get env(): Record<string, string> {
    return { ...this.machine.env, STUB_JOURNAL: this.journal };
  }

  resume(...args: string[]): Promise<Finished> {
    return bench(['run', '--resume', '--db', this.db, ...args], { env: this.env });
  }

  get stored(): number {
    return queryStore(this.db, `SELECT 1 FROM runs WHERE role = 'timed'`).length;
  }

  private get timedRuns(): number {
    if (!existsSync(this.journal)) return 0;
    return readFileSync(this.journal, 'utf8').split('--loadEngine').length - 1;
  }
}

const REFUSED = /^bench: sweep \w{8} cannot resume unchanged: (.*)\. Start a new one, or add --anyway\n$/;

async function refusal(sweep: Interrupted): Promise<string> {
  const { code, stderr } = await sweep.resume();
  expect(code).toBe(2);
  return REFUSED.exec(stderr)?.[1] ?? stderr;
}

test('--resume refuses what is not the same any more: matrix, model, trtexec, driver and GPU', async () => {
  const sweep = await new Interrupted().begin();
  const [path, report] = ['model.onnx', 'report.xml'].map((name) => join(sweep.machine.folder, name));
  const changes: readonly (readonly [file: string, change: (text: string) => string, said: string])[] = [
    [sweep.matrix, (text) => text.replace('repeats: 2', 'repeats: 3'), `the matrix ${sweep.matrix} has changed`],
    [sweep.trtexec, (text) => `${text}\n// another one\n`, `${sweep.trtexec} has changed`],
    [
      report ?? '',
      (text) => text.replace('580.159.04', '590.1.0').replaceAll(sweep.machine.uuids[0] ?? '', 'GPU-new'),
      `the driver was 580.159.04 and is 590.1.0; it ran on ${sweep.machine.uuids[0]}, which is not used now`,
    ],
  ];
  for (const [file, change, said] of changes) {
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, change(text));
    expect(await refusal(sweep)).toBe(said);
    writeFileSync(file, text);
  }
  // A comment is nothing else.
  appendFileSync(sweep.matrix, '# nightly\n');
  writeFileSync(path ?? '', toBytes(model(18, ...valueInfo(11, 'input', ['batch', 3]))));
  expect(await refusal(sweep)).toBe(`the model ${path} has changed`);
  const { code, stderr } = await sweep.resume('--anyway');
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  expect(stderr).toContain(`note: continuing although the model ${path} has changed\n`);
  expect(sweep.stored).toBe(4);
}, 60_000);
