import { compareTensorrtVersions, parseTensorrtVersion, type TensorrtVersion } from '../../text/version.ts';
import { FLAG_ROWS, type FlagRow } from './flags.ts';

interface TrtexecFlag extends Required<Omit<FlagRow, 'since' | 'removed' | 'isPath' | 'isRepeatable'>> {
  readonly since: TensorrtVersion;
  readonly removed: TensorrtVersion | null;
  readonly isPath: boolean;
  readonly isRepeatable: boolean;
}

export const CELL_FLAGS = [
  '--shapes',
  '--useCudaGraph',
  '--noCudaGraph',
  '--noDataTransfers',
  '--includeDataTransfers',
  '--useSpinWait',
  '--noSpinWait',
  '--infStreams',
  '--streams',
] as const;

const FLAGS: ReadonlyMap<string, TrtexecFlag> = new Map(
  FLAG_ROWS.map(({ isPath = false, isRepeatable = false, removed, since, ...row }) => [
    row.flag,
    {
      ...row,
      since: versionOf(since),
      removed: removed === undefined ? null : versionOf(removed),
      isPath,
      isRepeatable,
    },
  ]),
);

function versionOf(text: string): TensorrtVersion {
  return parseTensorrtVersion(text) ?? { major: 0, minor: 0, patch: 0 };
}

export function flagNames(): string[] {
  return [...FLAGS.keys()];
}

export function findFlag(flag: string): TrtexecFlag | undefined {
  return FLAGS.get(flag);
}

/** True if trtexec of `version` accepts the flag; false for an unknown flag. */
export function isFlagIn(flag: string, version: TensorrtVersion): boolean {
  const known = FLAGS.get(flag);
  if (known === undefined) return false;
  // A release is in the table by its tag; 8.6.1 represents 8.6 as users write it.
  const since = { ...known.since, patch: 0 };
  if (compareTensorrtVersions(version, since) < 0) return false;
  if (known.removed !== null && compareTensorrtVersions(version, known.removed) >= 0) return false;
  const gap = ABSENT_AGAIN[flag];
  return gap === undefined || version.major !== gap.major || !isBetween(version.minor, gap.minors);
}

/** Flags that were missing from some versions in between. */
const ABSENT_AGAIN: Readonly<Record<string, { readonly major: number; readonly minors: readonly [number, number] }>> = {
  '--consistency': { major: 10, minors: [4, 12] },
};

function isBetween(value: number, [low, high]: readonly [number, number]): boolean {
  return value >= low && value <= high;
}

/** `--flag=value` in its parts; null for a flag without a value. */
export function splitFlag(arg: string): readonly [flag: string, value: string | null] {
  const equals = arg.indexOf('=');
  return equals === -1 ? [arg, null] : [arg.slice(0, equals), arg.slice(equals + 1)];
}

/** The values of a command line by their flags; the empty text for a flag without one. */
export function flagsOf(args: readonly string[]): Map<string, string> {
  return new Map(
    args.map((arg) => {
      const [flag, value] = splitFlag(arg);
      return [flag, value ?? ''];
    }),
  );
}

/** The file that a build flag names; null for a flag without one. */
export function fileOfFlag(flag: string): { readonly name: string; readonly path: string } | null {
  const [name, path] = splitFlag(flag);
  return path === null || findFlag(name)?.isPath !== true ? null : { name, path };
}

/** A flag for the store: the hash of a file replaces its folder. */
export function flagWithHash(name: string, path: string, sha256: string): string {
  return `${name}=${baseOf(path)}@sha256:${sha256}`;
}

/** A LIKE pattern (escape \) for stored flags, ignoring folders and contents of files. */
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

export function flagValue(argv: readonly string[], flag: string): string | null {
  const prefix = `${flag}=`;
  return argv.find((part) => part.startsWith(prefix))?.slice(prefix.length) ?? null;
}
