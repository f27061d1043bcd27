const PLAIN = /^[\w@%+=:,./~^-]+$/;
// oxlint-disable-next-line no-control-regex -- what a terminal would act on
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f]/;

/** One argument as a POSIX shell reads it back; with control characters in bash's `$'…'`, so that none is printed raw. */
export function shellQuote(argument: string): string {
  if (PLAIN.test(argument)) return argument;
  if (!UNPRINTABLE.test(argument)) return `'${argument.replaceAll("'", String.raw`'\''`)}'`;
  const escaped = argument.replace(/[\\']/g, String.raw`\$&`).replace(
    // oxlint-disable-next-line no-control-regex -- as above
    /[\u0000-\u001f\u007f-\u009f]/g,
    (c) => [...Buffer.from(c)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join(''),
  );
  return `$'${escaped}'`;
}

/** A command line that can be copied into a shell. It is for people: nothing here is ever given to one. */
export function shellLine(argv: readonly string[]): string {
  return argv.map(shellQuote).join(' ');
}
