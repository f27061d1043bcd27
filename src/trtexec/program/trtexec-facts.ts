import { realpathSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';

import { namesIn } from '../../files/folders.ts';
import { EnvironmentLackingError } from '../../errors.ts';
import type { TensorrtVersion } from '../../text/version.ts';
import { ask } from '../../process/ask.ts';
import { type TrtexecLookup, findTrtexec, probeTrtexec } from './find-trtexec.ts';

export type LibraryFacts = ReturnType<typeof found> | ReturnType<typeof missing> | ReturnType<typeof unknown>;

interface FactsLookup extends TrtexecLookup {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Where trtexec is, whether it runs, and which library it will load. Uses no GPU. */
export async function trtexecFacts(lookup: FactsLookup) {
  let path: string;
  try {
    path = findTrtexec(lookup);
  } catch (error) {
    if (!(error instanceof EnvironmentLackingError)) throw error;
    return { trtexec: { kind: 'missing' as const, problem: error.message }, linkedCuda: null };
  }
  const [help, linked] = await Promise.all([
    helpOf(path, lookup),
    ask('ldd', [path], { env: lookup.env, timeoutMs: lookup.timeoutMs }),
  ]);
  const links = linked.kind === 'answered' ? linked.text : '';
  const isScript = linked.kind === 'refused' && /not a dynamic executable/.test(linked.problem);
  const version = help.kind === 'version' ? help.version : null;
  const library: LibraryFacts = isScript
    ? unknown('it is a script, or linked statically: what it loads shows in its log')
    : await libraryOf(path, links, version, lookup);
  const cuda = /libcudart\.so\.(\d+)/.exec(links)?.[1];
  const linkedCuda = cuda === undefined ? null : Number(cuda);
  return { trtexec: { kind: 'found' as const, path, help, library }, linkedCuda };
}

async function helpOf(path: string, { env, signal, timeoutMs }: FactsLookup) {
  const program = { file: path, prefixArgs: [], env, shownAs: path, provenance: 'measured' as const, recordings: null };
  try {
    const { version } = await probeTrtexec(program, signal, timeoutMs);
    return { kind: 'version' as const, version };
  } catch (error) {
    if (!(error instanceof EnvironmentLackingError)) throw error;
    return { kind: 'failed' as const, problem: error.message };
  }
}

/**
 * Finds the library: since 8.6 trtexec loads it by name at run time; older ones are linked. Asks `ldd`, then searches
 * as the loader does.
 */
async function libraryOf(trtexec: string, links: string, version: TensorrtVersion | null, lookup: FactsLookup) {
  const linked = /^\s*(libnvinfer\.so\S*) => (.+?)(?: \(0x[0-9a-f]+\))?$/m.exec(links);
  if (linked !== null) {
    const [, name = '', target = ''] = linked;
    return target === 'not found' ? missing(name, trtexec) : found(target);
  }
  if (process.platform === 'win32') return unknown('which DLL it loads is not looked up on Windows');
  if (version === null) return unknown('which library it loads is not known: its version is not');
  const name = `libnvinfer.so.${version.major}`;
  const folders = (lookup.env['LD_LIBRARY_PATH'] ?? '').split(delimiter).filter(Boolean);
  const onPath = folders.map((folder) => join(folder, name)).find(isThere);
  if (onPath !== undefined) return found(onPath);
  // `ldconfig` is in folders that may be on root's PATH only.
  const env = { ...lookup.env, PATH: [lookup.env['PATH'] ?? '', '/usr/sbin', '/sbin'].join(delimiter) };
  const cache = await ask('ldconfig', ['-p'], { env, timeoutMs: lookup.timeoutMs });
  if (cache.kind !== 'answered') return unknown(`${name} is not in LD_LIBRARY_PATH, and ldconfig gave no answer`);
  const lines = [...cache.text.matchAll(/^\s*(\S+) \(.*\) => (.+)$/gm)];
  const cached = lines.find(([, cachedName]) => cachedName === name)?.[2];
  return cached === undefined ? missing(name, trtexec) : found(cached);
}

/** The version is that of the file name, such as `10.6.0`. */
function found(path: string) {
  const real = isThere(path) ? realpathSync(path) : path;
  const version = /\.so\.(\d+\.\d+(?:\.\d+)*)$/.exec(basename(real))?.[1] ?? null;
  return { kind: 'found' as const, path: real, version };
}

/** `nearby` is a folder next to trtexec that has the library, although the loader does not look there. */
function missing(name: string, trtexec: string) {
  const folder = dirname(realpathSync(trtexec));
  const near = [folder, join(folder, '..', 'lib'), join(folder, '..', '..', 'lib')];
  const nearby = near.find((place) => namesIn(place).includes(name)) ?? null;
  return { kind: 'missing' as const, name, nearby: nearby === null ? null : realpathSync(nearby) };
}

function unknown(why: string) {
  return { kind: 'unknown' as const, why };
}

function isThere(path: string): boolean {
  return namesIn(dirname(path)).includes(basename(path));
}
