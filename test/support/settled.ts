import { createHash } from 'node:crypto';

/**
 * What differs from day to day and from folder to folder: ids, times of day, the place. Each stand-in of an id or a time
 * is as wide as what it stands for, so that columns stay where they are. With `seen` each id has a stand-in of its own.
 */
export function settled(text: string, cwd: string, seen: Map<string, string> | null = null): string {
  return text
    .replaceAll(cwd, '~')
    .replaceAll(/\b(?:[0-9a-f]{32}|[0-9a-f]{40})\b/g, '0'.repeat(32))
    .replaceAll(SHORT_ID, (id) => standIn(id, seen))
    .replaceAll(/\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d/g, '2026-11-21 02:00')
    .replaceAll(/\b\d{4}-\d\d-\d\d\b/g, '2026-11-21')
    .replaceAll(/(?<=2026-11-21 02:00):\d\d(?:\.\d{3}Z?)?/g, (seconds) => seconds.replaceAll(/\d/g, '0'));
}

const SHORT_ID = /\b[0-9a-f]{8}\b/g;

const STAND_INS = ['1a2b3c4d', '5e6f7a8b', '9c0d1e2f', '3a4b5c6d', '7e8f9a0b', 'c1d2e3f4', 'a5b6c7d8', 'e9f0a1b2'];

function standIn(id: string, seen: Map<string, string> | null): string {
  const place = seen?.size ?? 0;
  const made = seen?.get(id) ?? STAND_INS[place] ?? createHash('sha1').update(`${place}`).digest('hex').slice(0, 8);
  seen?.set(id, made);
  return made;
}
