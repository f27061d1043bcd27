import { dirname } from 'node:path';

import { writeFindings } from '../../artefacts/sweep-notes.ts';
import { artefactsFolderOf } from '../../files/layout.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { redactionFor } from '../../cli/redacted.ts';
import { withStore } from '../../cli/with-store.ts';
import { ensure, errorText, UsageError, type ExitCode, failOn } from '../../errors.ts';
import type { Sweep } from '../../records/sweep.ts';
import { fullDisk } from '../../process/disk-space.ts';
import { readMatrix } from '../plan/index.ts';
import { chooseCells, metricNamed } from '../../selection/by-name.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { jsonText, printable } from '../../text/printable.ts';
import { aboutSeries, checkedSweep, foundInAll, shownCells } from './checked.ts';
import type { CheckOptions } from './command.ts';
import { notifyOfNews } from './notify.ts';
import type { Checked, CheckedFinding, CheckedSeries } from './output.ts';
import { isStale, newestSweeps } from './series.ts';
import { checkText, type ShownSeries } from './text.ts';

export async function check(files: readonly string[], options: CheckOptions, io: Io): Promise<ExitCode> {
  const isNamedOnce = files.length === 0 || options.matrix === undefined;
  ensure(isNamedOnce, '--matrix and a matrix file cannot be used together: the file has the name');
  const isUntrusted = options.untrusted === true;
  const matrices = files.length === 0 ? null : files.map((file) => readMatrix(file, io, isUntrusted));
  const names = matrices?.map(({ name }) => name) ?? (options.matrix === undefined ? undefined : [options.matrix]);
  return withStore(options, io, async (store) => {
    const { db } = store;
    const { note, sweeps: newest } = await newestSweeps(db, { ...options, names }, io);
    if (note !== null) io.err(`note: ${note}\n`);
    const { against, asOf, minChange } = options;
    const isStored = !store.isReadOnly && [asOf, minChange, against].every((stated) => stated === undefined);
    const why = store.isReadOnly ? (fullDisk(dirname(store.path)) ?? 'the store is read-only here') : null;
    if (why !== null) io.err(`note: ${why}: bench did not store this check\n`);
    const judgedAt = isStored ? io.now().toISOString() : null;
    const how = { ...options, onlyNewest: asOf !== undefined, judgedAt };
    const all: ShownSeries[] = [];
    for (const sweep of newest) {
      io.signal.throwIfAborted();
      if (isStale(sweep, newest)) {
        all.push({ series: staleSeries(db, sweep), findings: [], judged: null });
        continue;
      }
      const checked = await checkedSweep(db, sweep, io, how);
      // The artefacts may belong to another user.
      await writeFindings(db, artefactsFolderOf(store.path), checked.judged.changed).catch((error: unknown) => {
        io.err(`note: not written next to the artefacts: ${printable(errorText(error))}\n`);
      });
      // Once after an update, because open findings set the exit code from now on.
      const lasting = checked.judged.isFirstByReference ? checked.standing.slower : [];
      const open = lasting.flatMap(({ id, state }) => (state === 'open' ? id.slice(0, 8) : []));
      const command = `bench ack ${open.join(' ')} --reason "…"`;
      if (open.length > 0) io.err(`note: open findings make exit code 1 until they are acknowledged: ${command}\n`);
      all.push(checked);
    }
    const exitCode = failOn(options.failOn, foundInAll(all));
    const checked = shown(db, all, options);
    const series = checked.map((one) => one.series);
    const output: Checked = { schemaVersion: 2, series, findings: checked.flatMap((one) => one.findings), exitCode };
    printResult(io, options, output, (_, look) => checkText(checked, options.all === true, look));
    if (isStored && options.filter === undefined && options.metric === undefined) {
      const sources = { stated: options.notify, matrices, isUntrusted, sweeps: newest };
      // Hides the same names in the input of a program as in the printed output.
      const hidden = options.redact === true ? redactionFor(io, options, jsonText(output)).json(output) : output;
      await notifyOfNews(db, output, `${jsonText(hidden)}\n`, sources, io);
    }
    return exitCode;
  });
}

function staleSeries(db: OpenStore['db'], sweep: Sweep): CheckedSeries {
  const headline = `no sweep since ${sweep.startedAt?.slice(0, 10) ?? 'an unknown date'}: not judged`;
  const unknown = { judgedBy: null, sweeps: 0, baseBranch: null, geometricMean: null };
  return { ...aboutSeries(db, sweep), ...unknown, verdict: 'stale', headline, canConfirm: false, cells: [], notes: [] };
}

/** `--filter` and `--metric` limit what is shown, not what is judged. */
function shown(db: OpenStore['db'], all: readonly ShownSeries[], { filter, metric: requested }: CheckOptions) {
  if (filter === undefined && requested === undefined) return all;
  const metric = metricNamed(db, requested);
  const known = new Map(all.flatMap(({ judged }) => judged?.evidence.cells ?? []).map(({ cell }) => [cell.key, cell]));
  const keys = new Set(chooseCells(db, [...known.values()], filter).map(({ key }) => key));
  if (keys.size === 0) throw new UsageError('no cell of the newest sweeps matches the filter; see `bench ls cells`');
  const isShown = (finding: CheckedFinding): boolean =>
    finding.details.some((change) => (metric === null || change.metric === metric) && keys.has(change.key));
  const selected = all.map(({ findings: found, judged, series }) => {
    const findings = found.filter(isShown);
    const cells = judged === null ? [] : shownCells(judged, metric).filter(({ key }) => keys.has(key));
    const hidden = findings.length < found.length ? ['the first line and the exit code are of all cells'] : [];
    // The mean over all cells does not describe a selection.
    return { judged, findings, series: { ...series, cells, geometricMean: null, notes: [...series.notes, ...hidden] } };
  });
  const isJudged = metric === null || selected.some(({ series }) => series.cells.length > 0);
  ensure(isJudged, `--metric ${requested}: bench check judges it in no cell; bench compare and bench trend show it`);
  return selected;
}
