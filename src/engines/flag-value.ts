/** The value of `--flag=value` in a command line; null without that flag. */
export function flagValue(args: readonly string[], flag: string): string | null {
  const arg = args.find((each) => each.startsWith(`${flag}=`));
  return arg === undefined ? null : arg.slice(flag.length + 1);
}
