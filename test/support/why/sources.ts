import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const FIXTURES = join(ROOT, 'test', 'fixtures', 'trtexec');

/** A recorded run as it lies on disk. */
export interface Source {
  readonly folder: string;
  readonly argv: readonly string[];
  readonly model: string;
  readonly precision: string;
  readonly stdout: string;
  readonly stderr: string;
}

export function readSource(folder: string): Source {
  const manifest: { argv: string[]; cell?: { model?: string; precision?: string } } = JSON.parse(
    readFileSync(join(folder, 'run.json'), 'utf8'),
  );
  return {
    folder,
    argv: manifest.argv,
    model: manifest.cell?.model ?? 'vit_small',
    precision: manifest.cell?.precision ?? 'fp16',
    stdout: readText(folder, 'stdout.log') ?? '',
    stderr: readText(folder, 'stderr.log') ?? '',
  };
}

export function readText(folder: string, name: string): string | null {
  if (existsSync(join(folder, name))) return readFileSync(join(folder, name), 'utf8');
  const packed = join(folder, `${name}.br`);
  return existsSync(packed) ? brotliDecompressSync(readFileSync(packed)).toString('utf8') : null;
}

/** Both nights of a cell, where both are kept: one run each, nothing changed between them. */
export const BETWEEN_SWEEPS: readonly (readonly [Source, Source])[] = [
  ...folders(join(ROOT, 'recordings', 'night1'), /^nights_1_/).map((name) =>
    pair(join(ROOT, 'recordings', 'night1', name), join(ROOT, 'recordings', 'night2', name.replace('_1_', '_2_'))),
  ),
  ...folders(join(FIXTURES, 'nights', '1'), /./).map((name) =>
    pair(join(FIXTURES, 'nights', '1', name), join(FIXTURES, 'nights', '2', name)),
  ),
];

/** Repeated runs of the same engine, five or more. */
export const REPEATS: readonly (readonly Source[])[] = [
  ['level2', 'b8.graph1'],
  ['opt32', 'b8.graph1'],
  ['opt32', 'b1.graph1'],
].map(([variant = '', cell = '']) => {
  const folder = join(FIXTURES, 'pairs', 'vit_small.fp16', variant, cell);
  return folders(folder, /-normal$/).map((name) => readSource(join(folder, name)));
});

/** What really happened to a cell of the nights while something else ran. */
export function beside(group: 'gpu-contended' | 'cpu-contended'): (readonly [Source, Source])[] {
  return folders(join(FIXTURES, group), /graph/).flatMap((name) => {
    const night = BETWEEN_SWEEPS.find(([first]) => first.folder.endsWith(name));
    return night === undefined ? [] : [[night[0], readSource(join(FIXTURES, group, name))] as const];
  });
}

function folders(folder: string, pattern: RegExp): string[] {
  return readdirSync(folder)
    .filter((name) => pattern.test(name))
    .toSorted();
}

function pair(first: string, second: string): readonly [Source, Source] {
  return [readSource(first), readSource(second)];
}
