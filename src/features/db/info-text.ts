import { printable } from '../../text/printable.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { padEnd, wrapWords } from '../../terminal/text-width.ts';
import type { InfoOutput } from './output.ts';

const LABEL_WIDTH = 11;

export function infoText(info: InfoOutput, look: Look): string[] {
  const lines = [
    ['store', `${printable(info.path)}, schema ${info.storeSchema}`],
    ['size', sizeText(info)],
    ['beside it', besideText(info)],
    ['sweeps', sweepsText(info)],
    ['kept', keptText(info)],
    ['said', saidText(info)],
    ['prune', pruneText(info)],
  ].flatMap(([label = '', text = '']) => labelled(label, text, look));
  if (info.runs.length === 0) return lines;
  return [...lines, '', ...runsTable(info, look), '', ...machinesTable(info, look)];
}

function labelled(label: string, text: string, look: Look): string[] {
  return wrapWords(text, look.columns - LABEL_WIDTH).map(
    (line, index) => look.style.dim(padEnd(index === 0 ? label : '', LABEL_WIDTH)) + line,
  );
}

function sizeText({ bytes: { file, wal, free } }: InfoOutput): string {
  const more = [
    ...(wal > 0 ? [`${formatBytes(wal)} in the WAL`] : []),
    ...(free > 0 ? [`${formatBytes(free)} of it free`] : []),
  ];
  return [formatBytes(file), ...more].join(', ');
}

function besideText({ bytes: { artefacts, engines, variants } }: InfoOutput): string {
  const named: [string, number][] = [
    ['artefacts', artefacts],
    ['engines', engines],
    ['variants', variants],
  ];
  const there = named.filter(([, bytes]) => bytes > 0);
  return there.length === 0 ? 'nothing' : there.map(([name, bytes]) => `${name} ${formatBytes(bytes)}`).join(', ');
}

function sweepsText({ rows, firstAt, lastAt }: InfoOutput): string {
  const span = firstAt === null ? '' : `, ${firstAt.slice(0, 10)} to ${lastAt?.slice(0, 10)}`;
  const open = rows.unfinishedSweeps === 0 ? '' : `, ${rows.unfinishedSweeps} not finished`;
  return `${rows.sweeps}${span}${open}; ${count(rows.cells, 'cell')}, ${count(rows.builds, 'build')}`;
}

function keptText({ samples, layerProfiles, artefactFiles, rows }: InfoOutput): string {
  const pruned = rows.prunedRuns === 0 ? '' : `; ${count(rows.prunedRuns, 'run')} pruned`;
  return `samples of ${count(samples.runs, 'run')} (${formatBytes(samples.bytes)}), layers of ${layerProfiles.runs} (${formatBytes(layerProfiles.bytes)}), ${count(artefactFiles, 'file')} of artefacts${pruned}`;
}

function saidText({ rows }: InfoOutput): string {
  return `${count(rows.baselines, 'baseline')}, ${count(rows.openFindings, 'open finding')}, ${count(rows.accuracies, 'accuracy', 'accuracies')}`;
}

function pruneText({ prunable }: InfoOutput): string {
  const { days, sweeps, sampleBytes, artefactBytes } = prunable;
  return sweeps === 0
    ? `nothing is older than ${days} days and not needed`
    : `--keep ${days}d would take ${formatBytes(sampleBytes)} of samples and up to ${formatBytes(artefactBytes)} of artefacts from ${count(sweeps, 'sweep')}`;
}

function runsTable({ runs }: InfoOutput, look: Look): string[] {
  const right = 'right' as const;
  return renderTable<InfoOutput['runs'][number]>(
    [
      { header: 'runs', text: ({ role }) => role },
      { header: 'provenance', text: ({ provenance }) => provenance },
      { header: 'measured', text: ({ measured }) => String(measured), align: right },
      { header: 'built', text: ({ built }) => String(built), align: right },
      { header: 'unfit', text: ({ unfit }) => String(unfit), align: right },
      { header: 'failed', text: ({ failed }) => String(failed), align: right },
    ],
    runs,
    look,
  );
}

function machinesTable({ machines }: InfoOutput, look: Look): string[] {
  const right = 'right' as const;
  return renderTable<InfoOutput['machines'][number]>(
    [
      { header: 'host', text: ({ host }) => printable(host ?? 'unknown'), minWidth: 8 },
      { header: 'GPU', text: ({ gpu }) => printable(gpu ?? 'unknown'), minWidth: 8 },
      { header: 'environments', text: (row) => String(row.environments), align: right, dropRank: 1 },
      { header: 'runs', text: (row) => String(row.runs), align: right },
    ],
    machines,
    look,
  );
}
