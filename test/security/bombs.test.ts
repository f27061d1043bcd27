import { execFileSync } from 'node:child_process';
import { cpSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Transform } from 'node:stream';
import { Script } from 'node:vm';
import { createZstdDecompress, gzipSync, zstdCompressSync } from 'node:zlib';

import { afterEach, describe, expect, test, vi } from 'vitest';

import { readChunks } from '../../src/files/files.ts';
import { discoverRuns } from '../../src/artefacts/read/discover.ts';
import { type CommandSettings, readCommand } from '../../src/harnesses/command.ts';
import { findRuns } from '../../src/selection/find-runs.ts';
import { parseLayerInfo, parseOrigins } from '../../src/trtexec/exports/layer-info.ts';
import { parseProfile } from '../../src/trtexec/exports/profile.ts';
import { TimesReader } from '../../src/trtexec/exports/times.ts';
import { runFuzz } from '../../benchmarks/fuzz/run-fuzz.ts';
import { bench, temporaryFolder, refusal } from '../support/bench.ts';
import { FIXTURES } from '../support/recordings.ts';
import { testIo } from '../support/io.ts';

const MIB = 1 << 20;

afterEach(() => void vi.restoreAllMocks());

/** A run folder with a real log and one more file. */
function runWith(name: string, content: Buffer): string {
  const cwd = temporaryFolder();
  cpSync(join(FIXTURES, 'formats', 'default-run'), join(cwd, 'run'), { recursive: true });
  writeFileSync(join(cwd, 'run', name), content);
  return cwd;
}

describe('files that unpack to far more than they are', () => {
  const zeros = Buffer.alloc(257 * MIB, ' ');
  test.each([
    ['layers.json.zst', zstdCompressSync(zeros)],
    ['run.json.gz', gzipSync(zeros)],
  ])('%s is refused in one line, and nothing is stored', async (name, content) => {
    const cwd = runWith(name, content);
    if (name.startsWith('run.json')) rmSync(join(cwd, 'run', 'run.json'), { force: true });
    const text = /bench: run\/\S+: holds more than \d+ MiB, and no file of a run does: not read\n/;
    expect(await bench(['import', 'run'], { cwd })).toEqual(refusal(text));
    expect(JSON.parse((await bench(['ls', 'sweeps', '--json'], { cwd })).stdout).sweeps).toEqual([]);
  });

  test('of 5 GiB not more than 4 are unpacked', async () => {
    const path = join(temporaryFolder(), 'stdout.log.zst');
    writeFileSync(path, zstdCompressSync('small'));
    // Its decoder gives the same bytes again and again: really unpacked they are 17 s of work.
    const decoder: Transform = Object.getPrototypeOf(createZstdDecompress());
    vi.spyOn(decoder, '_transform').mockImplementation(function unpackAll(this: Transform, ...given) {
      const unpackOne = (left: number): void => {
        if (left === 0 || this.destroyed) return void given[2]();
        // Two that wait to be read would be copied into one.
        if (this.readableLength > 0) return void setImmediate(unpackOne, left);
        this.push(zeros.subarray(0, 256 * MIB));
        setImmediate(unpackOne, left - 1);
      };
      unpackOne(20);
    });
    let bytes = 0;
    await expect(async () => {
      for await (const chunk of readChunks(path)) bytes += chunk.length;
    }).rejects.toThrow('holds more than 4096 MiB');
    expect(bytes).toBe(4 * 1024 * MIB);
  });

  test('a document of too many values is refused before it is parsed', async () => {
    const cwd = runWith('layers.json', Buffer.from(`{"Layers": [${'[],'.repeat(8_100_000)}[]]}`));
    expect(await bench(['import', 'run'], { cwd })).toEqual(refusal('more than 16000000 values'));
  });
});

test('rows without an end: a row of times that does not end', () => {
  const reader = new TimesReader();
  reader.push(Buffer.from('[{ "startH2dMs": 1, "computeMs": 2 }, {'));
  expect(() => {
    for (let i = 0; i < 10; i += 1) reader.push(Buffer.alloc(65_536, ' '));
  }).toThrow('row 2 does not end');
});

describe('text that a mend would look at again and again', () => {
  // With a mend that is not linear each of these takes minutes, and the test its time limit.
  test('names of layers, origins and entries', () => {
    expect(parseOrigins('[ONNX Layer: '.repeat(200_000))).toEqual([]);
    expect(parseOrigins('[ONNX Layer: a]\u001e[ONNX Layer: b[0]][ONNX Layer: c]')).toEqual(['a', 'b[0]', 'c']);
    expect(() => parseLayerInfo(`{${'"a":'.repeat(500_000)}x`)).toThrow('not repairable');
    expect(() => parseProfile(`[{ ${'"name" : "'.repeat(300_000)}`)).toThrow('not repairable');
  });

  test('a pattern of a matrix that would take for ever is ended', () => {
    const metrics = { speed: { better: 'higher', unit: 'qps', pattern: '(a+)+$' } } as const;
    const settings: CommandSettings = { kind: 'command', run: ['x'], metrics };
    // What would end it after 5 s ends it after a tenth of one.
    const { runInNewContext } = Script.prototype;
    const search = vi.spyOn(Script.prototype, 'runInNewContext').mockImplementation(function inShort(this: Script, on) {
      return runInNewContext.call(this, on, { timeout: 100 });
    });
    const problem = 'stdout.log: pattern of speed was not done after 5 s: write a simpler one';
    expect(readCommand(settings, { text: () => `${'a'.repeat(60)}!` })).toEqual({ kind: 'faulty', problem });
    const ended = { type: 'throw', value: expect.objectContaining({ code: 'ERR_SCRIPT_EXECUTION_TIMEOUT' }) };
    expect([search.mock.lastCall?.[1], search.mock.results]).toEqual([{ timeout: 5000 }, [ended]]);
  }, 20_000);
});

describe('a matrix', () => {
  async function planned(text: string | Buffer): Promise<string> {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'm.yaml'), text);
    const { code, stdout, stderr } = await bench(['plan', 'm.yaml'], { cwd });
    expect([code, stdout]).toEqual([2, '']);
    return stderr;
  }

  test.each([
    ['models: &a {x: *a}\n', 'bench: m.yaml:1:16: YAML: *a is part of itself\n'],
    ['models: {x: *nothing}\n', 'nothing'],
    [`models: ${'['.repeat(200)}${']'.repeat(200)}\n`, 'bench: m.yaml:1:108: YAML: nested too deeply\n'],
  ])('%j', async (text, expected) => {
    const stderr = await planned(text);
    expect(stderr).toContain(expected);
    expect(stderr.split('\n').length).toBeLessThan(5);
  });

  test('aliases that make a small file enormous', async () => {
    const lines = Array.from({ length: 30 }, (_, i) =>
      i === 0 ? 'a0: &a0 [1, 1]' : `a${i}: &a${i} [*a${i - 1}, *a${i - 1}, *a${i - 1}]`,
    );
    expect(await planned(`models: {}\n${lines.join('\n')}\n`)).toContain('the file is too large');
  });

  test('what it extends is a file, and no device', async () => {
    expect(await planned('extends: /dev/zero\n')).toBe('bench: m.yaml:1:10: extends: /dev/zero: not a regular file\n');
    const cwd = temporaryFolder();
    symlinkSync('/dev/zero', join(cwd, 'zero.yaml'));
    expect((await bench(['plan', 'zero.yaml'], { cwd })).stderr).toBe('bench: zero.yaml: not a regular file\n');
  });
});

test('a signal ends the search for logs in a folder', async () => {
  const folder = temporaryFolder();
  symlinkSync('/nowhere', join(folder, 'a'));
  writeFileSync(join(folder, 'b.log'), '&&&& RUNNING TensorRT.trtexec');
  const abort = new AbortController();
  const link = () => abort.abort(new Error('SIGTERM'));
  await expect(discoverRuns(folder, undefined, { signal: abort.signal, link })).rejects.toThrow('SIGTERM');
  // Not as something that is wrong with the folder.
  await expect(findRuns(folder, { ...testIo(), signal: abort.signal })).rejects.toThrow('SIGTERM');
});

test('a file of line ends is no report of a harness, and that is found out at once', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'a.csv.gz'), gzipSync('\n'.repeat(1 << 20)));
  // Minutes, with an expression that tries each line end as the beginning of all that follow.
  expect(await discoverRuns(folder)).toEqual([]);
});

test('inputs that are a pipe are not waited for', async () => {
  const cwd = temporaryFolder();
  execFileSync('mkfifo', [join(cwd, 'pipe')]);
  writeFileSync(join(cwd, 'm.onnx'), 'model');
  writeFileSync(
    join(cwd, 'm.yaml'),
    'models: {m: {onnx: m.onnx, shapes: {x: [1, 3]}, inputs: {x: pipe}}}\naxes: {precision: fp32}\n',
  );
  expect(await bench(['plan', 'm.yaml'], { cwd })).toMatchObject({ code: 2, stderr: expect.stringContaining('pipe') });
});

test('of 2000 damaged inputs none is a crash, a false measurement or a write outside', async () => {
  const report = await runFuzz(2000, 1, temporaryFolder(), () => 0);
  expect(report.findings).toEqual([]);
  expect(report.inputs).toBeGreaterThanOrEqual(2000);
  // Damage is found, and not everything is refused for it.
  for (const { inputs, name, refused } of report.targets) {
    const hasPlainRefusal = !['log', 'csv', 'run folder', 'import'].includes(name);
    if (hasPlainRefusal) expect([name, refused > 0 && refused < inputs]).toEqual([name, true]);
  }
});
