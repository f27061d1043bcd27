import { type ExitCode } from '../exit-codes.ts';
import { clockRecordNames } from '../process/lock-folder.ts';
import { type Io, withoutColor } from './io.ts';

/** What every command takes, as far as it decides how the command is run. */
export interface CommonOptions {
  readonly color?: boolean;
  readonly db?: string;
  readonly redact?: boolean;
}

/** Runs a command; its exit code is that of the command line. */
export type Execute = (options: CommonOptions, start: (io: Io) => Promise<ExitCode>) => Promise<void>;

/** Runs a command and turns what it throws into lines and an exit code. */
export async function execute(
  options: CommonOptions,
  given: Io,
  start: (io: Io) => Promise<ExitCode>,
): Promise<ExitCode> {
  const io = options.color === false ? withoutColor(given) : given;
  if (clockRecordNames(io.env).length > 0) {
    const { releaseLeftClocks } = await import('../machine/release-clocks.ts');
    releaseLeftClocks(io.env, (line) => io.err(`bench: ${line}\n`));
  }
  try {
    return options.redact === true ? await redacted(io, options, start) : await start(io);
  } catch (error) {
    return (await import('./explain-error.ts')).explain(error, io);
  }
}

/** What was printed before something went wrong is printed as well. */
async function redacted(io: Io, options: CommonOptions, start: (io: Io) => Promise<ExitCode>): Promise<ExitCode> {
  const held = (await import('./redacted.ts')).redacted(io, options);
  try {
    return await start(held.io);
  } finally {
    held.flush();
  }
}
