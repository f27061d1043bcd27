import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

import { explain } from '../../cli/execute.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { EnvironmentLackingError, EXIT_CODES, type ExitCode } from '../../errors.ts';
import { makeReadOnly } from '../../store/file/open.ts';
import type { ServeOptions } from './command.ts';
import { subjectOf } from './gather.ts';
import { madePage, pagePolicy } from './page/report-page.ts';

/** Serves the HTML report from the current store, on loopback only, until Ctrl-C. */
export function serve(options: ServeOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async ({ db, isReadOnly }) => {
    makeReadOnly(db);
    const page = async () => (await madePage(db, options, io, await subjectOf(db, null, options, io))).html;
    // Report an empty store here rather than in a browser.
    await page();
    // The bundle is one file, in which a static import would load Node's HTTP for every command.
    const { createServer } = await import('node:http');
    const server = createServer();
    const port = await listening(server, options.port);
    server.on('request', (request, response) => void answer(request, response, { port, page, io }));
    const url = `http://${LOOPBACK}:${port}/`;
    printResult(io, options, { schemaVersion: 1, url }, () => [url]);
    if (isReadOnly) {
      io.err('the store is read-only here: the page may not show new results\n');
    }
    io.err('read-only, and only for this machine; Ctrl-C stops it\n');
    if (!io.signal.aborted) await once(io.signal, 'abort');
    server.close();
    server.closeAllConnections();
    return EXIT_CODES.fine;
  });
}

/**
 * Answers a request. Rejects other host names, which a web page could point at this machine (DNS rebinding). A path
 * never names a file.
 */
async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { io, page, port }: { readonly port: number; readonly page: () => Promise<string>; readonly io: Io },
): Promise<void> {
  const { method, url = '', headers } = request;
  const refuse = (status: number, why: string): void => send(response, status, 'text/plain', `${why}\n`);
  if (![`${LOOPBACK}:${port}`, `localhost:${port}`].includes((headers.host ?? '').toLowerCase())) {
    return refuse(403, `this is only for http://${LOOPBACK}:${port}/`);
  }
  if (method !== 'GET' && method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    return refuse(405, 'read-only: GET and HEAD');
  }
  const [path] = url.split('?');
  if (path !== '/') return refuse(404, 'not found; the report is at /');
  response.setHeader('content-security-policy', `${pagePolicy()}; frame-ancestors 'none'`);
  try {
    send(response, 200, 'text/html', await page());
  } catch (error) {
    explain(error, io);
    refuse(500, 'the report cannot be made; bench serve says why');
  }
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    ...SAFE_HEADERS,
    'content-type': `${type}; charset=utf-8`,
    'content-length': Buffer.byteLength(text),
  });
  response.end(response.req.method === 'HEAD' ? undefined : text);
}

async function listening(server: Server, requested: number): Promise<number> {
  server.listen({ host: LOOPBACK, port: requested, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const text = `port ${requested} of ${LOOPBACK} is not available (${why}): --port 0 chooses a free one`;
    throw new EnvironmentLackingError(text, { cause: error });
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : requested;
}

/** Only this machine can connect. */
const LOOPBACK = '127.0.0.1';

/** No caching, sniffing, framing or referrer. */
const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};
