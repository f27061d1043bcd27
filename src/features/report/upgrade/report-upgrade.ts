import { type Io, printResult } from '../../../cli/io.ts';
import { failOn } from '../../../cli/fail-on.ts';
import { writeOutput } from '../../../cli/output-file.ts';
import { redactionFor } from '../../../cli/redacted.ts';
import { withStore } from '../../../cli/with-store.ts';
import { UsageError } from '../../../errors.ts';
import type { ExitCode } from '../../../exit-codes.ts';
import { resolveSides } from '../../../selection/sides.ts';
import { printable } from '../../../text/printable.ts';
import type { ReportOptions } from '../command.ts';
import { refuseUnwritable, writeHtml } from '../html.ts';
import { upgradeMarkdown } from './markdown.ts';
import { upgradeText } from './text.ts';
import { upgradeReport } from './upgrade.ts';

/** `bench report --upgrade OLD NEW`: the answer to the terminal, unless a format is asked for. */
export async function reportUpgrade(
  base: string | undefined,
  head: string | undefined,
  options: ReportOptions,
  io: Io,
): Promise<ExitCode> {
  refuseUnclear(base, head, options);
  const { branch, html, md } = options;
  return withStore(options, io, async ({ db }) => {
    if (html !== undefined) refuseUnwritable(fileOf(html), io);
    const sides = await resolveSides(db, base, head, io, { branch });
    const { cells, isSlower, output } = await upgradeReport(db, sides, options);
    if (html !== undefined) {
      const [old, now] = [sides.base, sides.head].map(({ sweeps }) => sweeps[0]?.sweepId ?? '');
      const file = fileOf(html);
      await writeHtml(db, file, options, io, { base: old ?? '', head: now, upgrade: output });
      noteFile(file, io);
    }
    if (md !== undefined) {
      const text = upgradeMarkdown(output);
      const file = fileOf(md);
      if (file === null) io.out(text);
      else await writeOutput(file, [options.redact === true ? redactionFor(io, options, text).text(text) : text], io);
      noteFile(file, io);
    }
    const isPrinted = [html, md].every((file) => file === undefined || fileOf(file) !== null);
    if (isPrinted) printResult(io, options, output, (shown, look) => upgradeText(shown, cells, look));
    const { buildFailed, incomparable, runFailed, unclear } = output.counts;
    return failOn(options.failOn, {
      regression: isSlower || output.counts.accuracyFell > 0,
      failed: buildFailed + runFailed > 0,
      unclear: unclear + incomparable > 0,
    });
  });
}

/** Null for standard output. */
function fileOf(option: string | true): string | null {
  return option === true || option === '-' ? null : option;
}

function noteFile(file: string | null, io: Io): void {
  if (file !== null) io.err(`wrote ${printable(file)}\n`);
}

const OTHER_FORMATS = ['junit', 'csv', 'openmetrics', 'bmf', 'github', 'night', 'asOf'] as const;

function refuseUnclear(base: string | undefined, head: string | undefined, options: ReportOptions): void {
  if (base === undefined || (head === undefined && !base.includes('..'))) {
    throw new UsageError('--upgrade takes two sides: bench report --upgrade OLD NEW, such as trt=10.6 trt=10.16');
  }
  const other = OTHER_FORMATS.find((name) => options[name] !== undefined);
  if (other !== undefined) {
    const flag = other.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new UsageError(`--${flag} is not for --upgrade: it has --md, --html and --json`);
  }
  const toOutput = [options.html, options.md].filter((file) => file !== undefined && fileOf(file) === null);
  if (toOutput.length + (options.json === true ? 1 : 0) > 1) {
    throw new UsageError('only one thing can go to standard output: name files, such as --md upgrade.md');
  }
}
