import { isRecord } from '../../text/unknown-values.ts';

const MARK = 'trtbench-replay-engine';

/** What replay writes as an engine: small, marked, and never to be taken for a real one. */
export function engineToken(pool: string, build: string): string {
  return `${JSON.stringify({ [MARK]: 1, pool, build })}\n`;
}

/** The build that a token stands for; null for any other file. */
export function readEngineToken(text: string): { pool: string; build: string } | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(parsed) || parsed[MARK] !== 1) return null;
  const { pool, build } = parsed;
  return typeof pool === 'string' && typeof build === 'string' ? { pool, build } : null;
}
