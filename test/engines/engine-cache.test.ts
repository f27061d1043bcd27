import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { EngineCache } from '../../src/engines/engine-cache.ts';
import { engineNoteSchema, type EngineNote } from '../../src/engines/engine-index.ts';
import { KnownHashes } from '../../src/files/hashes.ts';
import { type TimedOn, timingNoteOf } from '../../src/engines/timing-caches.ts';
import { temporaryFolder } from '../support/bench.ts';

const KEY = 'a'.repeat(32);
const NEVER = new AbortController().signal;

const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

function noteOf(text: string, number = 1, buildId = 'b'.repeat(32)): EngineNote {
  const sha256 = sha256Of(text);
  return engineNoteSchema.parse({ schemaVersion: 1, engineKey: KEY, buildId, sha256, bytes: text.length, number });
}

async function built(cache: EngineCache, text: string, note = noteOf(text)): Promise<void> {
  writeFileSync(await cache.temporaryPath(note.number === 1 ? KEY : `${KEY}-${note.number}`), text);
  await cache.link(note);
}

const ofKey = (note: { readonly engineKey: string }): boolean => note.engineKey === KEY;

describe('EngineCache', () => {
  test('an engine that nothing names is not there', async () => {
    const cache = new EngineCache(join(temporaryFolder(), 'engines'));
    await built(cache, 'engine');
    const [engine] = await cache.builds(ofKey);
    expect(engine).toMatchObject({ name: KEY, path: cache.pathOf(sha256Of('engine')) });
    await cache.unlink({ ...noteOf('engine'), name: KEY });
    writeFileSync(cache.pathOf(sha256Of('engine')), 'engine');
    expect(await cache.builds(ofKey)).toEqual([]);
  });

  test('two builds of one key are both there, the newer first, each as it was built', async () => {
    const cache = new EngineCache(join(temporaryFolder(), 'engines'));
    await built(cache, 'first');
    await built(cache, 'second', noteOf('second', 1, 'c'.repeat(32)));
    const [second, first] = await cache.builds(ofKey);
    expect([first?.note.buildId, second?.note.buildId]).toEqual(['b'.repeat(32), 'c'.repeat(32)]);
    const path = (await cache.findBuild('b'.repeat(32)))?.path ?? '';
    expect(readFileSync(path, 'utf8')).toBe('first');
    writeFileSync(path, 'other');
    expect(await cache.findBuild('b'.repeat(32))).toBeNull();
    await cache.unlink({ ...noteOf('first'), name: KEY });
    expect([existsSync(path), (await cache.builds(ofKey)).length]).toEqual([false, 1]);
  });

  test('a folder of the version before is taken in as it is', async () => {
    const cache = new EngineCache(temporaryFolder());
    const { folder } = cache;
    const write = (name: string, content: string | object): void =>
      writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
    const retired = `${KEY}@cccccccc`;
    write(`${KEY}.plan`, 'now');
    write(`${KEY}.json`, noteOf('now'));
    write(`${KEY}.cache`, 'times');
    write(`${KEY}.pin`, { schemaVersion: 1, pinnedAt: '2026-01-02T00:00:00Z' });
    write(`${retired}.plan`, 'before');
    write(`${retired}.json`, noteOf('before', 1, 'c'.repeat(32)));
    const frozen = { name: KEY, buildId: 'b'.repeat(32), since: '2026-01-03T00:00:00Z' };
    write(`frozen-${'f'.repeat(32)}.json`, { schemaVersion: 1, sha256: sha256Of('now'), ...frozen });
    expect(await cache.findBuild('b'.repeat(32))).toMatchObject({ path: cache.pathOf(sha256Of('now')) });
    expect(await cache.findBuild('c'.repeat(32))).toMatchObject({ name: KEY });
    const pins = { ['b'.repeat(32)]: '2026-01-02T00:00:00Z' };
    expect(await cache.index.read()).toMatchObject({ pins, frozen: { ['f'.repeat(32)]: frozen } });
    expect(
      readdirSync(folder)
        .filter((name) => !name.startsWith('.') && !name.endsWith('.lock'))
        .toSorted(),
    ).toEqual(
      [`${sha256Of('before')}.plan`, `${sha256Of('now')}.plan`, `${sha256Of('now')}.cache`, 'index.json'].toSorted(),
    );
  });

  test('within one process they take turns', async () => {
    const cache = new EngineCache(join(temporaryFolder(), 'engines'));
    const order: string[] = [];
    const work = (name: string) => async () => {
      order.push(`${name} begins`);
      await new Promise((done) => setImmediate(done));
      order.push(`${name} ends`);
    };
    const waiting = { signal: NEVER, onWait: () => order.push('told to wait') };
    await Promise.all([
      expect(cache.hold(KEY, waiting, () => Promise.reject(new Error('no luck')))).rejects.toThrow('no luck'),
      cache.hold(KEY, waiting, work('a')),
      cache.hold(KEY, waiting, work('b')),
    ]);
    // Whose turn comes first is not promised.
    const [first = ''] = order;
    const names = first.startsWith('a') ? ['a', 'b'] : ['b', 'a'];
    expect(order).toEqual(names.flatMap((name) => [`${name} begins`, `${name} ends`]));
  });
});

test('a file is read once as long as nobody touches it', async () => {
  const path = join(temporaryFolder(), 'file');
  writeFileSync(path, 'some bytes');
  const hashes = new KnownHashes();
  expect(await hashes.sha256Of(path)).toBe(sha256Of('some bytes'));
  const { atimeMs } = statSync(path);
  expect([await hashes.sha256Of(path), statSync(path).atimeMs]).toEqual([sha256Of('some bytes'), atimeMs]);
  for (const name of [path, `${path}.same`]) writeFileSync(name, 'others');
  const reading = hashes.sha256Of(path);
  renameSync(`${path}.same`, path);
  expect([await reading, await hashes.sha256Of(join(path, 'none'))]).toEqual([sha256Of('others'), null]);
});

describe('timing caches', () => {
  const H200: TimedOn = {
    gpuName: 'NVIDIA H200',
    computeCapability: '9.0',
    tensorrt: '10.6.0',
    tensorrtLibrary: null,
    driverMajor: '580',
    cudaMajor: '13',
    lockedClocks: null,
  };

  async function place() {
    const folder = temporaryFolder();
    const cache = new EngineCache(join(folder, 'engines'));
    await cache.prepare();
    const copy = (name: string, more: Partial<TimedOn> = {}) =>
      cache.timing.copyFor({ ...H200, ...more }, join(folder, name));
    const learned = async (text: string, more: Partial<TimedOn> = {}) => {
      await copy('mine', more);
      writeFileSync(join(folder, 'mine'), text);
      await cache.timing.takeIn({ ...H200, ...more }, join(folder, 'mine'));
    };
    return { cache, copy, folder, learned };
  }

  test('a build gets a copy, and gives it back when it has succeeded', async () => {
    const { copy, folder, learned } = await place();
    expect([await copy('a'), existsSync(join(folder, 'a'))]).toEqual([null, false]);
    await learned('times');
    expect(await copy('b')).toBe(sha256Of('times'));
    for (const other of [{ gpuName: 'L4' }, { lockedClocks: 'locked 1590 MHz' }]) {
      expect(await copy('c', other)).toBeNull();
    }
  });

  test('one that is not what its note says is not used', async () => {
    const { cache, copy, folder, learned } = await place();
    await learned('times');
    const file = readdirSync(cache.folder).find((name) => name.endsWith('.cache')) ?? '';
    expect(timingNoteOf(join(cache.folder, file), sha256Of('times'))?.timedOn).toEqual(H200);
    writeFileSync(join(cache.folder, file), 'tim');
    expect([await copy('b'), existsSync(join(folder, 'b'))]).toEqual([null, false]);
  });

  test.each([
    ['10.6.0', true],
    ['10.6.1', false],
    [null, true],
  ])('learned with the library 10.6.0, for %s: %s', async (tensorrtLibrary, isUsed) => {
    const { copy, learned } = await place();
    await learned('times', { tensorrtLibrary: '10.6.0' });
    expect((await copy('b', { tensorrtLibrary })) !== null).toBe(isUsed);
  });
});
