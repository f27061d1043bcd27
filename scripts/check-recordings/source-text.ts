import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import type { RunSource } from '../../src/artefacts/read/recognise.ts';
import type { ReadRun } from '../../src/artefacts/read/read-run.ts';
import type { LogStream } from '../../src/records/outcome.ts';
import { LogFacts, placeOf } from './log-facts.ts';
import { readLines } from './text-lines.ts';

/** The files of one source by their names without the ending of a compression. */
export type SourceFiles = ReadonlyMap<string, string>;

export interface LogFile {
  readonly stream: LogStream;
  readonly path: string;
  /** Name under which the program lists it. */
  readonly name: string;
}

const PACKED = /\.(?:gz|zst|br)$/;

export async function filesOf({ kind, path }: RunSource): Promise<SourceFiles> {
  if (kind !== 'folder') return new Map();
  const entries = await readdir(path, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  const packed = names.filter((name) => PACKED.test(name)).toReversed();
  const plain = names.filter((name) => !PACKED.test(name));
  return new Map([...packed, ...plain].map((name) => [name.replace(PACKED, ''), join(path, name)]));
}

export function logsOf({ kind, path }: RunSource, files: SourceFiles): LogFile[] {
  if (kind !== 'folder') return [{ stream: 'stdout', path, name: '' }];
  const named = [...files.keys()].filter((name) => /\.(?:log|txt|out)$/.test(name));
  const others = named.filter((name) => name !== 'stderr.log');
  return (['stdout', 'stderr'] as const).flatMap((stream) => {
    // Without `stdout.log`, the only other log is the one.
    const isOther = stream === 'stdout' && !files.has('stdout.log') && others.length === 1;
    const name = (isOther ? others[0] : null) ?? `${stream}.log`;
    const found = files.get(name);
    return found === undefined ? [] : [{ stream, path: found, name }];
  });
}

/** Reads the logs again, only as far as the program could read them. */
export async function readFacts(logs: readonly LogFile[], runs: readonly ReadRun[]): Promise<LogFacts> {
  const facts = new LogFacts(new Set(runs.flatMap(quotedPlaces)));
  for (const { stream, path, name } of logs) {
    const artefacts = runs[0]?.artefacts ?? [];
    const read = name === '' ? artefacts[0] : artefacts.find((artefact) => artefact.name === name);
    await readLines(path, (text, line) => facts.take(stream, text, line), read?.bytes ?? 0);
  }
  return facts;
}

/** Lines of the log that stand in what the program says of a run. */
export function quotesOf({ outcome, log }: ReadRun): ReadRun['outcome']['evidence'] {
  return [...outcome.evidence, ...log.errors, ...log.hints, ...log.failures].filter(({ line }) => line > 0);
}

function quotedPlaces(run: ReadRun): string[] {
  return quotesOf(run).map(({ stream, line }) => placeOf(stream, line));
}
