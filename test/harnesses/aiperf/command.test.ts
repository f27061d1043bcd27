import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';

import { expect, test } from 'vitest';

import { AIPERF, describeWithAiperf } from '../../support/aiperf.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { writeByteTokenizer } from '../../support/byte-tokenizer.ts';
import { openAiServer } from '../../support/openai-server.ts';

const KEY = 'sk-made-up-0123456789';
/** Offline, AIPerf looks only into the cache of Hugging Face. */
const REVISION = '0'.repeat(40);

function writeTokenizerCache(hub: string): void {
  const model = join(hub, 'models--bench--bytes');
  writeByteTokenizer(join(model, 'snapshots', REVISION));
  mkdirSync(join(model, 'refs'));
  writeFileSync(join(model, 'refs', 'main'), REVISION);
}

function textsBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => {
      const bytes = readFileSync(join(parentPath, name));
      return (name.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes).toString('latin1');
    });
}

describeWithAiperf('the real AIPerf', () => {
  test('measures a server; the key reaches that and nothing else', async () => {
    const cwd = temporaryFolder();
    const server = await openAiServer({ firstTokenMs: 20, tokenMs: 2 });
    writeTokenizerCache(join(cwd, 'hf', 'hub'));
    const phase = '{name: profiling, kind: profiling, type: concurrency, requests: 1, concurrency: 1}';
    writeFileSync(
      join(cwd, 'aiperf.yaml'),
      [
        'benchmark:',
        '  endpoint: {api_key: "${OPENAI_API_KEY}"}',
        '  datasets: [{name: main, type: synthetic, entries: 1, prompts: {isl: {mean: 8}}}]',
        `  phases: [${phase}]`,
        '',
      ].join('\n'),
    );
    writeFileSync(
      join(cwd, 'serve.yaml'),
      [
        'models:',
        '  tiny:',
        '    harness:',
        '      kind: aiperf',
        `      program: ${AIPERF}`,
        `      url: ${server.url}`,
        '      model: tiny',
        '      streaming: true',
        '      concurrency: "{concurrency}"',
        '      requestCount: 12',
        '      inputTokens: {mean: 32, stddev: 4}',
        '      outputTokens: {mean: 16}',
        '      tokenizer: bench/bytes',
        '      config: aiperf.yaml',
        '      extraArgs: [--no-gpu-telemetry, --no-server-metrics]',
        'axes: {concurrency: 2}',
        'repeats: 1',
        '',
      ].join('\n'),
    );
    const env = { OPENAI_API_KEY: KEY, HF_HOME: join(cwd, 'hf'), HF_HUB_OFFLINE: '1' };
    try {
      const ran = await bench(['run', 'serve.yaml', '--no-telemetry'], { cwd, env });
      expect({ code: ran.code, said: ran.stdout.split('\n')[0] }).toEqual({ code: 0, said: '1 run' });
      expect(server.authorizations).toEqual(Array.from({ length: 12 }, () => `Bearer ${KEY}`));
    } finally {
      await server.stop();
    }
    const texts = [...textsBelow(join(cwd, 'artefacts')), ...textsBelow(cwd)];
    expect(texts.filter((text) => text.includes(KEY))).toEqual([]);
    const [cell] = JSON.parse((await bench(['ls', 'cells', '--json'], { cwd })).stdout).cells;
    expect(cell.label).toMatch(
      /^tiny served=tiny endpoint=chat streaming concurrency=2 requests=12 inputTokens=32 inputStddev=4 outputTokens=16 seed=0 tokenizer=bench\/bytes config=[\da-f]{12} --no-gpu-telemetry --no-server-metrics by aiperf\/wall$/,
    );
    const rebuilt = await bench(['import', 'artefacts', '--db', 'again.sqlite'], { cwd });
    expect(rebuilt.stdout).toContain('1 run stored');
  }, 180_000);
});
