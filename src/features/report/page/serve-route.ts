/** The only address that is listened on: other machines cannot ask. */
export const LOOPBACK = '127.0.0.1';

export type Route =
  | { readonly kind: 'page' | 'version' }
  | { readonly kind: 'refused'; readonly status: 403 | 404 | 405; readonly text: string };

export interface Request {
  readonly method: string | undefined;
  /** As it stands in the request line. */
  readonly url: string | undefined;
  readonly host: string | undefined;
}

/**
 * What is asked for. A name that a stranger's web page has pointed at this machine is no way in (DNS rebinding), and
 * no path is ever a file.
 */
export function routeOf({ method, url, host }: Request, port: number): Route {
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
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};
