/**
 * What differs from day to day and from folder to folder: ids, times of day, the place. Each stand-in of an id or a time
 * is as wide as what it stands for, so that columns stay where they are.
 */
export function settled(text: string, cwd: string): string {
  return text
    .replaceAll(cwd, '~')
    .replaceAll(/\b(?:[0-9a-f]{32}|[0-9a-f]{40})\b/g, '0'.repeat(32))
    .replaceAll(/\b[0-9a-f]{8}\b/g, '1a2b3c4d')
    .replaceAll(/\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d/g, '2026-11-21 02:00')
    .replaceAll(/\b\d{4}-\d\d-\d\d\b/g, '2026-11-21')
    .replaceAll(/(?<=2026-11-21 02:00):\d\d(?:\.\d{3}Z?)?/g, (seconds) => seconds.replaceAll(/\d/g, '0'));
}
