import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

import * as z from 'zod';

const requested = z.object({
  max_completion_tokens: z.number().optional(),
  max_tokens: z.number().optional(),
  stream: z.boolean().optional(),
  stream_options: z.object({ include_usage: z.boolean().optional() }).nullish(),
});

export interface OpenAiServer {
  readonly url: string;
  /** What came as `Authorization`, one entry a request. */
  readonly authorizations: readonly (string | null)[];
  readonly stop: () => Promise<void>;
}

interface Timing {
  readonly firstTokenMs: number;
  readonly tokenMs: number;
  /** This many requests are answered with an error first. */
  readonly failing?: number;
}

/**
 * A small server that speaks OpenAI's chat completions, streamed or not: as many letters as are asked for, at a steady
 * pace. No model is behind it.
 */
export async function openAiServer(timing: Timing): Promise<OpenAiServer> {
  const authorizations: (string | null)[] = [];
  let failing = timing.failing ?? 0;
  const server = createServer((request, response) => {
    if (request.method !== 'POST') {
      sendJson(response, { object: 'list', data: [{ id: 'tiny', object: 'model' }] });
      return;
    }
    authorizations.push(request.headers.authorization ?? null);
    failing -= 1;
    if (failing >= 0) {
      response.writeHead(503).end('{"error": {"message": "not yet"}}');
      return;
    }
    void answer(request, response, timing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}`, authorizations, stop: async () => stopServer(server) };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { firstTokenMs, tokenMs }: Timing,
): Promise<void> {
  const body = requested.parse(JSON.parse(await textOf(request)));
  const tokens = body.max_completion_tokens ?? body.max_tokens ?? 8;
  const usage = { prompt_tokens: 16, completion_tokens: tokens, total_tokens: 16 + tokens };
  const head = { id: 'chatcmpl-1', created: 1_790_000_000, model: 'tiny' };
  if (body.stream !== true) {
    await wait(firstTokenMs + tokenMs * (tokens - 1));
    const message = { role: 'assistant', content: 'w'.repeat(tokens) };
    const choices = [{ index: 0, message, finish_reason: 'length' }];
    sendJson(response, { ...head, object: 'chat.completion', choices, usage });
    return;
  }
  const send = (part: object): void => {
    const chunk = { ...head, object: 'chat.completion.chunk', ...part };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let token = 0; token < tokens; token += 1) {
    await wait(token === 0 ? firstTokenMs : tokenMs);
    send({ choices: [{ index: 0, delta: { content: 'w' }, finish_reason: null }] });
  }
  send({ choices: [{ index: 0, delta: {}, finish_reason: 'length' }] });
  if (body.stream_options?.include_usage === true) send({ choices: [], usage });
  response.end('data: [DONE]\n\n');
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8');
}

function sendJson(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function stopServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
