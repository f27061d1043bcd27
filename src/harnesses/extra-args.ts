/**
 * Arguments beyond those that bench knows, as parts of a cell: `['--tp', '2', '--quiet']` as `--tp=2` and `--quiet`.
 */
export function identityOfArgs(args: readonly string[]): Record<string, string> {
  const identity: Record<string, string> = {};
  let last: string | null = null;
  for (const arg of args) {
    if (arg.startsWith('-') && !/^-\d/.test(arg)) {
      const [, name = arg, value = ''] = /^([^=]+)=(.*)$/.exec(arg) ?? [];
      identity[name] = value;
      last = name;
    } else if (last !== null) {
      identity[last] = identity[last] === '' ? arg : `${identity[last]} ${arg}`;
    } else {
      identity[arg] = '';
    }
  }
  return identity;
}

/** Of these arguments the first that stands there; a value may be joined to it. */
export function firstOf(args: readonly string[], refused: readonly string[]): string | null {
  return args.map((arg) => arg.replace(/=.*$/, '')).find((arg) => refused.includes(arg)) ?? null;
}

/** So many digits of a hash tell the files of one project apart. */
const HASH_DIGITS = 12;

/** Part of a cell: the content of a file, not where it lies. */
export function shortHash(sha256: string): string {
  return sha256.slice(0, HASH_DIGITS);
}
