import { appendFileSync, copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { bench, type Finished, finished, startBench } from '../support/bench.ts';
import { GpuMachine } from '../support/gpu-machine.ts';
import { model, toBytes, valueInfo } from '../support/onnx-writer.ts';
import { queryStore } from '../support/store-dump.ts';
import { STUB, stubMatrix } from '../support/stub.ts';

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

const REFUSED = /^bench: sweep \w{8} cannot go on as it began: (.*)\. Start a new one, or add --anyway\n$/;

async function refusal(sweep: Interrupted): Promise<string> {
  const { code, stderr } = await sweep.resume();
  expect(code).toBe(2);
  return REFUSED.exec(stderr)?.[1] ?? stderr;
}

describe('--resume refuses what is not the same any more', () => {
  test('a matrix that says something else; not one with another comment', async () => {
    const sweep = await new Interrupted().begin();
    appendFileSync(sweep.matrix, '# nightly\n');
    const text = readFileSync(sweep.matrix, 'utf8');
    writeFileSync(sweep.matrix, text.replace('repeats: 2', 'repeats: 3'));
    expect(await refusal(sweep)).toBe(`the matrix ${sweep.matrix} says something else now`);
    writeFileSync(sweep.matrix, text);
    expect((await sweep.resume()).code).toBe(0);
    expect(sweep.stored).toBe(4);
  });

  test('another model', async () => {
    const sweep = await new Interrupted().begin();
    const path = join(sweep.machine.folder, 'model.onnx');
    writeFileSync(path, toBytes(model(18, ...valueInfo(11, 'input', ['batch', 3]))));
    expect(await refusal(sweep)).toBe(`the model ${path} has changed`);
    const { code, stderr } = await sweep.resume('--anyway');
    expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
    expect(stderr).toContain(`note: going on although the model ${path} has changed\n`);
    expect(sweep.stored).toBe(4);
  });

  test('another trtexec', async () => {
    const sweep = await new Interrupted().begin();
    appendFileSync(sweep.trtexec, '\n// another one\n');
    expect(await refusal(sweep)).toBe(`${sweep.trtexec} is another program now`);
  });

  test('another driver and another GPU', async () => {
    const sweep = await new Interrupted().begin();
    const report = join(sweep.machine.folder, 'report.xml');
    const xml = readFileSync(report, 'utf8');
    writeFileSync(report, xml.replace('580.159.04', '590.1.0').replaceAll(sweep.machine.uuids[0] ?? '', 'GPU-new'));
    expect(await refusal(sweep)).toBe(
      `the driver was 580.159.04 and is 590.1.0; it ran on ${sweep.machine.uuids[0]}, which is not used now`,
    );
  });
});
