import { createServer, type Server, type ServerResponse } from 'node:http';

import { explain } from '../../cli/execute.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { EnvironmentLackingError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { dataVersion, makeReadOnly } from '../../store/file/open.ts';
import type { ServeOptions } from './command.ts';
import { liveReport, pageAssets } from './html.ts';
import { pagePolicy } from './page/report-page.ts';

/** What the server needs of the store. */
interface LivePage {
  /** Another one whenever something was written. */
  readonly version: () => string;
  readonly page: () => Promise<string>;
}

/** `bench serve`: the HTML report from the store as it is now, on loopback only; ends with Ctrl-C. */
export function serve(options: ServeOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async ({ db, isReadOnly }) => {
    makeReadOnly(db);
    const start = io.now().getTime().toString(36);
    const version = (): string => `${start}-${dataVersion(db)}`;
    const live = { version, page: remembered(version, (made) => liveReport(db, options, made, io)) };
    // An empty store is said here, and not in a browser.
    await live.page();
    const server = createServer();
    const port = await listening(server, options.port);
    answerAll(server, port, live, io);
    const url = `http://${LOOPBACK}:${port}/`;
    printResult(io, options, { schemaVersion: 1, url }, () => [url]);
    if (isReadOnly) {
      io.err('the store may only be read here: the page may not see what is stored from now on\n');
    }
    io.err('read-only, for this machine alone; Ctrl-C ends it\n');
    await untilAborted(io.signal);
    await closed(server);
    return EXIT_CODES.fine;
  });
}

/** Made once for each version, also when several ask at the same time. A failure is not kept. */
function remembered(version: () => string, make: (version: string) => Promise<string>): () => Promise<string> {
  let known: { readonly version: string; readonly page: Promise<string> } | null = null;
  return async () => {
    const now = version();
    const entry = known?.version === now ? known : { version: now, page: make(now) };
    known = entry;
    try {
      return await entry.page;
    } catch (error) {
      if (known === entry) known = null;
      throw error;
    }
  };
}

function answerAll(server: Server, port: number, live: LivePage, io: Io): void {
  const policy = `${pagePolicy(pageAssets(), "'self'")}; frame-ancestors 'none'`;
  server.on('request', (request, response) => {
    const { method, url, headers } = request;
    const route = routeOf({ method, url, host: headers.host }, port);
    switch (route.kind) {
      case 'refused':
        if (route.status === 405) response.setHeader('allow', 'GET, HEAD');
        return send(response, route.status, 'text/plain', `${route.text}\n`);
      case 'version':
        return send(response, 200, 'text/plain', `${live.version()}\n`);
      case 'page':
        response.setHeader('content-security-policy', policy);
        void sendPage(response, live, io);
    }
  });
}

async function sendPage(response: ServerResponse, live: LivePage, io: Io): Promise<void> {
  try {
    send(response, 200, 'text/html', await live.page());
  } catch (error) {
    explain(error, io);
    send(response, 500, 'text/plain', 'the report cannot be made; bench serve says why\n');
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

function listening(server: Server, asked: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      reject(
        new EnvironmentLackingError(
          `port ${asked} of ${LOOPBACK} cannot be had (${'code' in error ? String(error.code) : error.message}): --port 0 takes a free one`,
          { cause: error },
        ),
      );
    });
    server.listen({ host: LOOPBACK, port: asked, exclusive: true }, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : asked);
    });
  });
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** The only address that is listened on: other machines cannot ask. */
const LOOPBACK = '127.0.0.1';

type Route =
  | { readonly kind: 'page' | 'version' }
  | { readonly kind: 'refused'; readonly status: 403 | 404 | 405; readonly text: string };

interface Request {
  readonly method: string | undefined;
  /** As it stands in the request line. */
  readonly url: string | undefined;
  readonly host: string | undefined;
}

/**
 * What is asked for. A name that a stranger's web page has pointed at this machine is no way in (DNS rebinding), and
 * no path is ever a file.
 */
function routeOf({ method, url, host }: Request, port: number): Route {
  if (!hostsOf(port).includes((host ?? '').toLowerCase())) {
    return refused(403, `this is only for http://${LOOPBACK}:${port}/`);
  }
  if (method !== 'GET' && method !== 'HEAD') return refused(405, 'read-only: GET and HEAD');
  const [path] = (url ?? '').split('?');
  if (path === '/') return { kind: 'page' };
  if (path === '/version') return { kind: 'version' };
  return refused(404, 'nothing here; the report is at /');
}

function refused(status: 403 | 404 | 405, text: string): Route {
  return { kind: 'refused', status, text };
}

function hostsOf(port: number): string[] {
  const names = [LOOPBACK, 'localhost'];
  return [...names.map((name) => `${name}:${port}`), ...(port === 80 ? names : [])];
}

/** Of every answer: nothing is kept, guessed, framed or sent elsewhere. */
const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};
