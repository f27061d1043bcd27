import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { zstdDecompressSync } from 'node:zlib';

import { expect, test } from 'vitest';

import { bench, ROOT, temporaryFolder } from '../../support/bench.ts';

/** The real one, from PyPI. */
const AIPERF = join(ROOT, '.cache', 'aiperf', 'bin', 'aiperf');
const IS_THERE = existsSync(AIPERF);
if (!IS_THERE) {
  process.stderr.write('tests with the real AIPerf are skipped; what they need: test/aiperf/install .cache/aiperf\n');
}

const KEY = 'sk-made-up-0123456789';
/** Offline, AIPerf looks only into the cache of Hugging Face. */
const REVISION = '0'.repeat(40);
/** Of each answer. */
const TOKENS = 16;

/**
 * A small server that speaks OpenAI's streamed chat completions: 16 letters at a steady pace. No model is behind it.
 * @returns its address, what came as `Authorization` with each request, and how to end it
 */
async function openAiServer() {
  const authorizations: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    if (request.method === 'POST') {
      authorizations.push(request.headers.authorization);
      void stream(response);
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ object: 'list', data: [{ id: 'tiny', object: 'model' }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, authorizations, stop };
}

async function stream(response: ServerResponse): Promise<void> {
  const head = { id: 'chatcmpl-1', created: 1_790_000_000, model: 'tiny', object: 'chat.completion.chunk' };
  const send = (part: object) => response.write(`data: ${JSON.stringify({ ...head, ...part })}\n\n`);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let token = 0; token < TOKENS; token += 1) {
    await wait(token === 0 ? 20 : 2);
    send({ choices: [{ index: 0, delta: { content: 'w' }, finish_reason: null }] });
  }
  send({ choices: [{ index: 0, delta: {}, finish_reason: 'length' }] });
  send({ choices: [], usage: { prompt_tokens: 16, completion_tokens: TOKENS, total_tokens: 16 + TOKENS } });
  response.end('data: [DONE]\n\n');
}

/**
 * A tokenizer in Hugging Face's format in which each byte is a token: made up, so that AIPerf needs no download. Bytes
 * have the printable names that GPT-2's byte-level BPE gives them.
 */
function writeTokenizerCache(hub: string): void {
  const folder = join(hub, 'models--bench--bytes');
  const snapshot = join(folder, 'snapshots', REVISION);
  for (const made of [snapshot, join(folder, 'refs')]) mkdirSync(made, { recursive: true });
  writeFileSync(join(folder, 'refs', 'main'), REVISION);
  const bytes = Array.from({ length: 256 }, (_, byte) => byte);
  const isPrintable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  const others = bytes.filter((byte) => !isPrintable(byte));
  const nameOf = (byte: number) => String.fromCodePoint(isPrintable(byte) ? byte : 256 + others.indexOf(byte));
  const vocab = Object.fromEntries(bytes.map((byte) => [nameOf(byte), byte]));
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false };
  const none = { truncation: null, padding: null, normalizer: null, post_processor: null, added_tokens: [] };
  const model = { type: 'BPE', unk_token: null, vocab, merges: [] };
  const tokenizer = { version: '1.0', ...none, pre_tokenizer: byteLevel, decoder: byteLevel, model };
  writeFileSync(join(snapshot, 'tokenizer.json'), JSON.stringify(tokenizer));
  const config = { tokenizer_class: 'PreTrainedTokenizerFast', model_max_length: 4096 };
  writeFileSync(join(snapshot, 'tokenizer_config.json'), JSON.stringify(config));
}

function textsBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => {
      const bytes = readFileSync(join(parentPath, name));
      return (name.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes).toString('latin1');
    });
}

test.skipIf(!IS_THERE)(
  'the real AIPerf measures a server; the key reaches that and nothing else',
  async () => {
    const cwd = temporaryFolder();
    const server = await openAiServer();
    writeTokenizerCache(join(cwd, 'hf', 'hub'));
    writeFileSync(
      join(cwd, 'aiperf.yaml'),
      `benchmark:
  endpoint: {api_key: "\${OPENAI_API_KEY}"}
  datasets: [{name: main, type: synthetic, entries: 1, prompts: {isl: {mean: 8}}}]
  phases: [{name: profiling, kind: profiling, type: concurrency, requests: 1, concurrency: 1}]
`,
    );
    writeFileSync(
      join(cwd, 'serve.yaml'),
      `models:
  tiny:
    harness: {kind: aiperf, program: ${AIPERF}, url: "${server.url}", model: tiny, streaming: true,
      concurrency: "{concurrency}", requestCount: 12, inputTokens: {mean: 32, stddev: 4}, outputTokens: {mean: ${TOKENS}},
      tokenizer: bench/bytes, config: aiperf.yaml, extraArgs: [--no-gpu-telemetry, --no-server-metrics]}
axes: {concurrency: 2}
repeats: 1
`,
    );
    const env = { OPENAI_API_KEY: KEY, HF_HOME: join(cwd, 'hf'), HF_HUB_OFFLINE: '1' };
    try {
      const ran = await bench(['run', 'serve.yaml', '--no-telemetry'], { cwd, env });
      expect({ code: ran.code, said: ran.stdout.split('\n')[0] }).toEqual({ code: 0, said: '1 run' });
      expect(server.authorizations).toEqual(Array.from({ length: 12 }, () => `Bearer ${KEY}`));
    } finally {
      server.stop();
    }
    expect(textsBelow(cwd).filter((text) => text.includes(KEY))).toEqual([]);
    const [cell] = JSON.parse((await bench(['ls', 'cells', '--json'], { cwd })).stdout).cells;
    expect(cell.label).toMatch(
      /^tiny served=tiny endpoint=chat streaming concurrency=2 requests=12 inputTokens=32 inputStddev=4 outputTokens=16 seed=0 tokenizer=bench\/bytes config=[\da-f]{12} --no-gpu-telemetry --no-server-metrics by aiperf\/wall$/,
    );
    expect((await bench(['import', 'artefacts', '--db', 'again.sqlite'], { cwd })).stdout).toContain('1 run stored');
  },
  180_000,
);
