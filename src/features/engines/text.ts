import * as z from 'zod';

import { type KeptEngine, engineFolder, engineLabel, keptEngine } from '../../records/engine.ts';
import { type OutputOf, count as countSchema, output } from '../../records/output-parts.ts';
import { type Look, wrapWords } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { printable } from '../../text/printable.ts';

const right = 'right' as const;

export function enginesText(found: EnginesOutput, look: Look): string[] {
  const { engines, lost } = found;
  if (engines.length === 0 && lost.length === 0) {
    return ['no engine is kept here: `bench run` builds what it needs, and keeps it'];
  }
  const notes = [
    totalLine(found),
    ...lost.map(({ name, since }) => `frozen since ${since.slice(0, 10)}, but missing: ${shownName(name)}`),
  ];
  return [
    ...renderTable<KeptEngine>(
      [
        { header: 'key', text: ({ name }) => shownName(name) },
        { header: 'model', text: ({ model }) => printable(model ?? ''), minWidth: 8 },
        {
          header: 'precision',
          text: ({ precision }) => (precision === 'unstated' ? '' : (precision ?? '')),
          dropRank: 3,
        },
        { header: 'GPU', text: ({ gpuName }) => printable(gpuName ?? ''), minWidth: 6, dropRank: 7 },
        {
          header: 'TensorRT',
          text: ({ tensorrtLibrary, tensorrt }) => printable(tensorrtLibrary ?? tensorrt ?? ''),
          dropRank: 6,
        },
        { header: 'size', text: ({ bytes, state }) => (state === 'missing' ? '' : formatBytes(bytes)), align: right },
        { header: 'built', text: ({ builtAt }) => minute(builtAt), dropRank: 5 },
        { header: 'last used', text: ({ lastUsedAt }) => minute(lastUsedAt), dropRank: 2 },
        { header: 'held', text: heldText, dropRank: 1 },
        {
          header: 'bytes',
          text: ({ state }) => STATES[state],
          style: ({ state }) => (state === 'changed' || state === 'missing' ? look.style.bad : look.style.good),
        },
      ],
      engines,
      look,
    ),
    ...notes.flatMap((note) => wrapWords(note, look.columns).map(look.style.dim)),
  ];
}

function totalLine({ engines, loose, timingCacheBytes }: EnginesOutput): string {
  const bytes = engines.reduce((sum, engine) => sum + engine.bytes, 0);
  const parts = [`${count(engines.length, 'engine')}, ${formatBytes(bytes)}`];
  const cacheBytes = engines.reduce((sum, engine) => sum + engine.timingCacheBytes, timingCacheBytes);
  if (cacheBytes > 0) parts.push(`timing caches ${formatBytes(cacheBytes)}`);
  if (loose.length > 0) {
    const left = loose.reduce((sum, file) => sum + file.bytes, 0);
    parts.push(`${count(loose.length, 'file')} of no engine, ${formatBytes(left)}`);
  }
  return parts.join(' · ');
}

function minute(instant: string | null): string {
  return (instant ?? '').slice(0, 16).replace('T', ' ');
}

/** `1a2b3c4d-2`: the second build of a key. */
export function shownName(name: string): string {
  return name.replace(/^([0-9a-f]{8})[0-9a-f]{24}/, '$1');
}

export function heldBytes({ bytes, timingCacheBytes }: KeptEngine): number {
  return bytes + timingCacheBytes;
}

/** `1a2b3c4d-2 vit fp16 #2` */
export function engineTitle(engine: KeptEngine): string {
  return `${shownName(engine.name)} ${printable(engineLabel(engine))}`;
}

function heldText({ frozenSince, pinnedAt, usedBy }: KeptEngine): string {
  return [pinnedAt === null ? '' : 'pinned', frozenSince === null ? '' : 'frozen', usedBy.length === 0 ? '' : 'in use']
    .filter((word) => word !== '')
    .join(', ');
}

const STATES: Readonly<Record<KeptEngine['state'], string>> = {
  asBuilt: 'as built',
  unchecked: '',
  changed: 'CHANGED',
  missing: 'MISSING',
};

export function gcText(report: EnginesGcOutput, look: Look): string[] {
  const { bytesAfter, bytesBefore, isDryRun, kept, maxBytes, removed, removedFiles } = report;
  const [would, now] = isDryRun ? ['would remove', 'would be'] : ['removed', 'are'];
  const lines = [
    ...removedFiles.map(({ path, bytes }) => `${would} ${printable(path)}, ${formatBytes(bytes)}`),
    ...removed.map(
      (engine) =>
        `${would} ${engineTitle(engine)}, ${formatBytes(heldBytes(engine))}, last used ${minute(engine.lastUsedAt ?? engine.builtAt)}`,
    ),
    ...kept.map(({ engine, because }) => `kept ${engineTitle(engine)}, ${formatBytes(heldBytes(engine))}: ${because}`),
    bytesBefore === bytesAfter
      ? `${formatBytes(bytesAfter)} are kept, of ${formatBytes(maxBytes)} allowed: nothing to remove`
      : `${formatBytes(bytesAfter)} ${now} left of ${formatBytes(bytesBefore)}, ${formatBytes(maxBytes)} allowed`,
  ];
  return lines.flatMap((line) => wrapWords(line, look.columns));
}

export const enginesOutput = output('bench ls engines|verify|pin|unpin|rm --json', engineFolder.shape);

export const enginesGcOutput = output('bench engines gc --json', {
  folder: z.string(),
  maxBytes: countSchema,
  isDryRun: z.boolean(),
  bytesBefore: countSchema,
  bytesAfter: countSchema,
  removed: z.array(keptEngine),
  removedFiles: engineFolder.shape.loose.unwrap().array(),
  kept: z.array(z.strictObject({ engine: keptEngine, because: z.string() })),
});

export type EnginesOutput = OutputOf<typeof enginesOutput>;
export type EnginesGcOutput = OutputOf<typeof enginesGcOutput>;
