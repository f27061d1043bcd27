import { join, relative } from 'node:path';

import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import type { ExitCode } from '../../errors.ts';
import { overlapOf } from '../../judge/bound.ts';
import { type LayerFacts, layerFactsOf } from '../../layers/layer-facts.ts';
import { BOUND_WORDS } from '../../records/bound.ts';
import { type KeyedCell, batchOf, cellLabel } from '../../records/cell.ts';
import { outcomeReason } from '../../records/outcome.ts';
import { profiledCell, profiledRun } from '../../selection/profiled-engine.ts';
import { tunedBatch } from '../../selection/engines-of-cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { matrixFileOf } from '../../store/sweeps/sweeps.ts';
import { type ShownRun, attachmentsOfCell, buildFlagsOf } from '../../store/runs/show-run.ts';
import { type Look, wrapHanging } from '../../terminal/look.ts';
import { formatMs, formatNumber, formatPercent, formatShare } from '../../terminal/numbers.ts';
import { REASON_TEXT } from '../../terminal/words.ts';
import { printable } from '../../text/printable.ts';
import { shellLine } from '../../text/shell-quote.ts';
import { ratesOf, remediedBound, withBatch } from '../sweep/index.ts';
import type { ShowOptions } from './command.ts';
import type { ExplainOutput, ProfilerStep } from './output.ts';
import { sumMs } from '../../layers/real-precision.ts';
import { namedRun, storedRun } from '../../selection/cell-points.ts';

/** `bench show RUN --next`: the findings of a run, and the profiler to use next. */
export async function explainRun(name: string, options: Pick<ShowOptions, 'json' | 'db'>, io: Io): Promise<ExitCode> {
  return withStore(options, io, ({ db }) =>
    printResult(io, options, explainedRun(db, storedRun(db, namedRun(db, name)), io.cwd), explainText),
  );
}

function explainedRun(db: StoreDatabase, stored: ShownRun, cwd: string): ExplainOutput {
  const { cell, outcome, provenance, role, runId, sweepId } = stored;
  const run = { ...stored, bound: remediedBound(db, sweepId, cell, stored.bound) };
  const engine = profiledRun(db, runId, runId) ?? (cell === null ? null : profiledCell(db, cell, [sweepId], runId));
  const layers = engine === null || engine.iterations === null ? [] : layerFactsOf(engine.layers);
  const isProfiled = layers.length > 0;
  const isUnmeasured = outcome.kind === 'failed' || role === 'build' || cell?.harness !== undefined;
  const ladder = cell === null || isUnmeasured ? [] : ladderOf(db, run, cell, isProfiled, cwd);
  const isHelped = cell !== null && cell.harness === undefined && run.measurement !== null;
  const remedies = isHelped ? [...(run.bound?.remedies ?? []), tunedShape(db, run, cell), ...overlap(run, cell)] : [];
  const [label, findings] = [cell === null ? null : cellLabel(cell), findingsOf(run, layers, remedies)];
  const next = ladder.find(({ state }) => state === 'next') ?? null;
  return { schemaVersion: 1, runId, label, provenance, findings, next, ladder };
}

const TOOLS: Readonly<Record<ProfilerStep['tool'], { readonly name: string; readonly says: string }>> = {
  trtexec: { name: 'trtexec', says: 'where the time goes, layer by layer' },
  nsys: { name: 'Nsight Systems', says: 'whether the GPU waits: launches, gaps, copies, the host' },
  ncu: { name: 'Nsight Compute', says: 'why one kernel is as slow as it is' },
};

/** Coarse tools first. @param isProfiled whether layer times of this run or of its cell are known */
function ladderOf(db: StoreDatabase, run: ShownRun, cell: KeyedCell, isProfiled: boolean, cwd: string) {
  const { bound, provenance, sweepId } = run;
  const key = cell.key.slice(0, 8);
  const matrix = relative(cwd, matrixFileOf(db, sweepId) ?? join(cwd, 'MATRIX'));
  const isCaptured = attachmentsOfCell(db, cell.key, 'nsysExport', null).length > 0;
  // If the GPU waits for the host or for copies, its layers do not explain the time.
  const waits = ['host', 'h2d', 'd2h'].includes(bound?.by ?? '');
  const next = !isProfiled && !waits ? 'trtexec' : isCaptured ? 'ncu' : 'nsys';
  // bench captures runs of this machine; of others it prints the command lines.
  const profile = ['bench', 'profile', key, ...(provenance === 'measured' ? [] : ['--dry-run'])];
  const steps: readonly (readonly [tool: ProfilerStep['tool'], isDone: boolean, bench: readonly string[]])[] = [
    [
      'trtexec',
      isProfiled,
      isProfiled ? ['bench', 'layers', key] : ['bench', 'run', matrix, '--filter', key, '--profile'],
    ],
    ['nsys', isCaptured, isCaptured ? ['bench', 'layers', key, '--kernels'] : [...profile, '--nsys']],
    ['ncu', false, ['bench', 'profile', key, '--ncu']],
  ];
  return steps.map(([tool, isDone, bench]): ProfilerStep => {
    const state = tool === next ? 'next' : isDone ? 'done' : 'later';
    return { tool, state, says: TOOLS[tool].says, bench };
  });
}

/** Findings of a run in sentences. */
function findingsOf(run: ShownRun, layers: readonly LayerFacts[], remedies: readonly (string | null)[]): string[] {
  const { bound, measurement, outcome, statistics } = run;
  const reason = outcomeReason(outcome);
  const gpuComputeMs = statistics['gpuComputeMs']?.median ?? null;
  const ratio = measurement?.['enqueueRatio'] ?? null;
  const hottest = layers.toSorted((a, b) => b.averageMs - a.averageMs).slice(0, 1);
  return [
    reason === null ? null : `${REASON_TEXT[reason]} (${reason})`,
    gpuComputeMs === null ? null : `GPU compute ${formatMs(gpuComputeMs)} (median)`,
    ratio === null ? null : `enqueue takes ${formatNumber(ratio, 2)} of that`,
    bound === null ? null : `bound by ${BOUND_WORDS[bound.by]}: ${bound.evidence}; ${bound.advice}`,
    ...remedies,
    ...hottest.map(({ averageMs, name }) => {
      const share = formatShare(averageMs / sumMs(layers));
      return `the layer that takes longest has ${formatMs(averageMs)}, ${share} of all layers: ${name}`;
    }),
  ].filter((sentence) => sentence !== null);
}

function explainText({ findings, label, ladder, next, provenance, runId }: ExplainOutput, look: Look): string[] {
  const { columns, style } = look;
  const title = `${printable(label ?? 'run')} · run ${runId.slice(0, 8)}, ${provenance}`;
  return [
    ...wrapHanging(title, columns, 2).map(style.strong),
    ...findings.flatMap((finding) => wrapHanging(`  ${printable(finding)}`, columns, 4)),
    ...ladder.flatMap(({ bench, says, state, tool }) => {
      const lines = wrapHanging(`${MARKS[state]} ${TOOLS[tool].name}: ${says}`, columns, 4);
      // On one line at any width, so that it can be copied.
      return ['', ...(state === 'next' ? lines.map(style.accent) : lines), `    ${shellLine(bench)}`];
    }),
    '',
    next === null
      ? `no next step: there is nothing of trtexec to profile; \`bench show ${runId.slice(0, 8)}\` has the log`
      : `${style.strong('next step')}: ${TOOLS[next.tool].name}, ${shellLine(next.bench)}`,
  ];
}

const MARKS: Readonly<Record<ProfilerStep['state'], string>> = { done: '✓', next: '→', later: ' ' };

/** An engine is fastest at the shapes that it is tuned for. */
function tunedShape(db: StoreDatabase, { buildId, sweepId }: ShownRun, cell: KeyedCell): string | null {
  const batch = batchOf(cell.shapes);
  const tuned = buildId === null ? null : tunedBatch(buildFlagsOf(db, buildId), cell.shapes);
  if (batch === null || !tuned || batch === tuned) return null;
  const twin = withBatch(cell, tuned);
  const rates = ratesOf([cell, twin], cellRunsOf(db, [sweepId], [cell.key, twin.key]));
  const [own, atOpt] = [rates.get(cell.key), rates.get(twin.key)];
  // A tenth more time for an item is worth a try.
  const help =
    !own || !atOpt || atOpt / own >= 1.1 ? ': another optimization profile (build.profiles) may be faster' : '';
  return `its batch is ${formatNumber(batch / tuned, 2)} times the opt batch of its engine (${tuned})${help}`;
}

function overlap({ hints, measurement, statistics }: ShownRun, cell: KeyedCell): string[] {
  const copies = [statistics['h2dMs'], statistics['d2hMs']].flatMap((line) => line?.median ?? []);
  const throughputQps = measurement?.['throughputQps'] ?? null;
  if (copies.length === 0 || cell.streams !== 1 || throughputQps === null) return [];
  const times = [...copies, statistics['gpuComputeMs']?.median ?? 0];
  const shares = times.map((ms) => (ms * throughputQps) / 1000);
  const share = formatPercent(100 * Math.max(...shares), false);
  const pageable = 'host memory was pageable, not pinned: copies are slower, and delay others';
  const { filled, isSerial } = overlapOf(shares);
  // One after the other, they fill the time exactly.
  const how = filled < 1.02 ? 'do not overlap' : isSerial ? 'hardly overlap' : 'overlap';
  const overlapped = `copies and compute ${how}: the longest of them goes on for ${share} of the time`;
  return hints.includes('pageable') ? [overlapped, pageable] : [overlapped];
}
