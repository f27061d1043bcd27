import { findFlag } from './flag-table.ts';

/** The file that a build flag names; null for a flag without one. */
export function fileOfFlag(flag: string): { readonly name: string; readonly path: string } | null {
  const equals = flag.indexOf('=');
  const name = flag.slice(0, equals);
  return equals === -1 || findFlag(name)?.isPath !== true ? null : { name, path: flag.slice(equals + 1) };
}

/** A flag as it is stored: what a file held says more than where it lay. */
export function flagWithHash(name: string, path: string, sha256: string): string {
  return `${name}=${baseOf(path)}@sha256:${sha256}`;
}

/** A pattern of SQL's LIKE (escape \) for stored flags that are the same but for folders and content of files. */
export function storedFlagsPattern(flags: readonly string[]): string {
  const parts = flags.map((flag) => {
    const file = fileOfFlag(flag);
    return file === null
      ? literally(JSON.stringify(flag))
      : `"${file.name}=%${literally(JSON.stringify(baseOf(file.path)).slice(1, -1))}%"`;
  });
  return `[${parts.join(',')}]`;
}

function literally(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&');
}

function baseOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
