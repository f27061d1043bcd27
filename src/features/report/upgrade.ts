import { type Io, printResult } from '../../cli/io.ts';
import { flagOf } from '../../cli/options.ts';
import { writeOutput } from '../../cli/output-file.ts';
import { redactionFor } from '../../cli/redacted.ts';
import { withStore } from '../../cli/with-store.ts';
import { UsageError } from '../../errors.ts';
import { type ExitCode, failOn } from '../../exit-codes.ts';
import { MAX_DROP_DB, accuracyDrop, sameAccuracyHistory } from '../../records/accuracy.ts';
import { resolveSides, type Side } from '../../selection/sides.ts';
import { recordsByCell } from '../../store/runs/accuracies.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { count, formatDecibels } from '../../terminal/numbers.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { printable, shortList } from '../../text/printable.ts';
import { compareReport, compareText, type Comparison, shiftSize } from '../compare/index.ts';
import { markdown, markdownText } from '../export/index.ts';
import type { ReportOptions } from './command.ts';
import { gatherReport } from './gather.ts';
import { refuseUnwritable, writeHtml } from './html.ts';
import type { UpgradeOutput } from './output.ts';

/** `bench report --upgrade OLD NEW`: `bench compare` across versions of TensorRT, with reasons against the upgrade. */
export async function reportUpgrade(
  base: string | undefined,
  head: string | undefined,
  options: ReportOptions,
  io: Io,
): Promise<ExitCode> {
  refuseUnclear(base, head, options);
  const { html, md } = options;
  const asked = { ...options, acrossTensorrt: true as const };
  const [page, text] = [html, md].map(fileOf);
  return withStore(options, io, async ({ db }) => {
    if (typeof page === 'string') refuseUnwritable(page, io);
    const sides = await resolveSides(db, base, head, io, { branch: options.branch });
    const { details, output: compared } = await compareReport(db, sides, asked);
    const { cells, counts, shift } = compared;
    const lost = cells.filter(({ runs: [a, b], verdict }) => verdict === 'failed' && a > 0 && b === 0).length;
    const fallen = fallenAccuracies(db, sides, cells);
    const slower = cells.filter(({ verdict }) => verdict === 'slower');
    const against = [
      ...(lost === 0 ? [] : [`${count(lost, 'cell')} that ran before: no result`]),
      ...(fallen.length === 0 ? [] : [`accuracy fell in ${shortList(fallen, NAMED)}`]),
      ...(slower.length === 0 ? [] : [count(slower.length, 'slower cell')]),
      ...(shift?.verdict === 'slower' ? [shiftSize(shift)] : []),
    ];
    const output: UpgradeOutput = { ...compared, schemaVersion: 2, against };
    const [old, now] = [sides.base, sides.head].map(({ sweeps }) => sweeps[0]?.sweepId ?? '');
    const about = { base: old ?? '', head: now };
    if (page !== undefined) await writeHtml(db, page, asked, io, about);
    if (text !== undefined) {
      const report = markdownText(await gatherReport(db, about, asked, io));
      const said = `**${markdown(answerText(output))}**\n\n${report}`;
      if (text === null) io.out(said);
      else await writeOutput(text, [options.redact === true ? redactionFor(io, options, said).text(said) : said], io);
    }
    for (const file of [page, text]) if (typeof file === 'string') io.err(`wrote ${printable(file)}\n`);
    if (page !== null && text !== null) {
      printResult(io, options, output, (_, look) => [
        ...wrapHanging(printable(answerText(output)), look.columns, 2).map(look.style.strong),
        ...compareText(output, details, look),
      ]);
    }
    return failOn(options.failOn, {
      regression: shift?.verdict === 'slower' || slower.length + fallen.length > 0,
      failed: lost > 0,
      unclear: counts.unclear + counts.incomparable > 0,
    });
  });
}

/** Maximum number of less accurate cells that are named. */
const NAMED = 3;

/** Accuracies of the files from which the engines were built, on the same inputs: `vit fp8 30.0 dB → 24.0 dB`. */
function fallenAccuracies(
  db: StoreDatabase,
  { base, head }: { readonly base: Side; readonly head: Side },
  cells: Comparison['cells'],
): string[] {
  const [before, after] = [base, head].map(({ sweeps }) =>
    recordsByCell(
      db,
      sweeps.map(({ sweepId }) => sweepId),
    ),
  );
  return cells.flatMap(({ key, label }) => {
    const [drop] = (after?.get(key) ?? []).flatMap((now) => {
      const was = before?.get(key)?.find((record) => sameAccuracyHistory(record, now));
      const found = accuracyDrop(now, was ?? null, MAX_DROP_DB);
      return found === null ? [] : [{ ...found, now }];
    });
    if (drop === undefined || !drop.isRegression) return [];
    const levels = [drop.before, drop.now].map(({ accuracy }) => formatDecibels(accuracy.sqnrDb));
    return [`${label} ${levels.join(' → ')}`];
  });
}

function answerText({ against, counts }: Pick<UpgradeOutput, 'against' | 'counts'>): string {
  if (against.length > 0) return `reasons against an upgrade: ${against.join(', ')}`;
  const isJudged = counts.faster + counts.same + counts.slower > 0;
  return isJudged ? 'no measured result is against an upgrade' : 'not known yet: no cell has a verdict';
}

/** The file of an option; null for standard output, undefined if the option is absent. */
function fileOf(option: string | true | undefined): string | null | undefined {
  return option === true || option === '-' ? null : option;
}

const OTHER_FORMATS = ['junit', 'csv', 'openmetrics', 'bmf', 'github', 'night', 'asOf'] as const;

function refuseUnclear(base: string | undefined, head: string | undefined, options: ReportOptions): void {
  if (base === undefined || (head === undefined && !base.includes('..'))) {
    throw new UsageError('--upgrade takes two sides: bench report --upgrade OLD NEW, such as trt=10.6 trt=10.16');
  }
  const other = OTHER_FORMATS.find((name) => options[name] !== undefined);
  if (other !== undefined) {
    throw new UsageError(`${flagOf(other)} is not for --upgrade: it has --md, --html and --json`);
  }
  const toOutput = [fileOf(options.html), fileOf(options.md), options.json === true ? null : undefined];
  if (toOutput.filter((file) => file === null).length > 1) {
    throw new UsageError('only one thing can go to standard output: name files, such as --md upgrade.md');
  }
}
