import { printable } from '../../text/printable.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import type { PruneOutput } from './output.ts';

/** Names of matrices: shown, not part of the output. */
export type NamesOfSweeps = ReadonlyMap<string, string | null>;

type PrunedSweep = PruneOutput['sweeps'][number];

const SHOWN = 20;

export function pruneText(report: PruneOutput, names: NamesOfSweeps, look: Look): string[] {
  const { dryRun, sweeps, measuredNow } = report;
  const kept = measuredNow === 0 ? [] : [`${count(measuredNow, 'sweep')} stay: being measured now`];
  const attached = attachmentLines(report);
  if (sweeps.length === 0) {
    return attached.length > 0 ? [...attached, ...kept] : ['nothing to prune: all that is there is kept', ...kept];
  }
  const sum = (of: (sweep: PrunedSweep) => number): number => sweeps.reduce((total, sweep) => total + of(sweep), 0);
  const shared = sum((sweep) => sweep.sharedFolders);
  const layerBytes = sum((sweep) => sweep.layerBytes);
  const parts = [
    `samples ${formatBytes(sum((sweep) => sweep.sampleBytes))}`,
    ...(layerBytes > 0 ? [`layers ${formatBytes(layerBytes)}`] : []),
    `artefacts ${formatBytes(sum((sweep) => sweep.artefactBytes))}`,
  ];
  const runs = sum((sweep) => sweep.runs);
  const about = `${count(sweeps.length, 'sweep')}, ${count(runs, 'run')}: ${parts.join(', ')}`;
  return [
    ...tableOf(sweeps, names, look),
    '',
    look.style.strong(`${dryRun ? 'would go' : 'went'}: ${about}`),
    ...attached,
    ...kept,
    ...(shared === 0 ? [] : [`artefacts of ${count(shared, 'run')} stay: another store in this folder has them too`]),
    ...(dryRun ? ['nothing was changed'] : [spaceText(report)]),
  ];
}

function attachmentLines({ attachments, dryRun }: PruneOutput): string[] {
  if (attachments.length === 0) return [];
  const bytes = attachments.reduce((sum, each) => sum + each.bytes, 0);
  const names = attachments
    .slice(0, SHOWN)
    .map(({ runId, name, attachedAt }) => `  ${attachedAt.slice(0, 10)}  run ${runId.slice(0, 8)}  ${printable(name)}`);
  const more = attachments.length - names.length;
  return [
    ...names,
    ...(more > 0 ? [`  … and ${more} more`] : []),
    `${dryRun ? 'would go' : 'went'}: ${count(attachments.length, 'attachment')}, ${formatBytes(bytes)}`,
  ];
}

function spaceText({ vacuumed, freeBytes }: PruneOutput): string {
  return vacuumed
    ? 'the file was written anew: its free space is given back'
    : `${formatBytes(freeBytes)} free in the file, for results to come; --vacuum gives them back to the disk`;
}

function tableOf(sweeps: readonly PrunedSweep[], names: NamesOfSweeps, look: Look): string[] {
  const right = 'right' as const;
  const table = renderTable<PrunedSweep>(
    [
      { header: 'sweep', text: ({ sweepId }) => sweepId.slice(0, 8) },
      { header: 'started', text: ({ startedAt }) => (startedAt ?? '–').slice(0, 10) },
      { header: 'matrix', text: ({ sweepId }) => printable(names.get(sweepId) ?? ''), minWidth: 8, dropRank: 2 },
      { header: 'runs', text: ({ runs }) => String(runs), align: right, dropRank: 1 },
      { header: 'samples', text: ({ sampleBytes }) => bytesText(sampleBytes), align: right },
      { header: 'layers', text: ({ layerBytes }) => bytesText(layerBytes), align: right },
      { header: 'artefacts', text: ({ artefactBytes }) => bytesText(artefactBytes), align: right },
    ],
    sweeps.slice(0, SHOWN),
    look,
  );
  return sweeps.length > SHOWN ? [...table, look.style.dim(`… and ${sweeps.length - SHOWN} more`)] : table;
}

function bytesText(bytes: number): string {
  return bytes === 0 ? '' : formatBytes(bytes);
}
