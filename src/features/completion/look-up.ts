import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { enginesFolderOf } from '../../artefacts/layout.ts';
import { namesIn } from '../../artefacts/folders.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { GENERAL_TOPICS, metricTopics } from '../help/index.ts';
import { listBaselines } from '../../store/sweeps/sweeps.ts';
import { allCells } from '../../store/cells.ts';
import { findingNames, peekIntoStore, storedBranches } from '../../store/sweeps/completion-names.ts';
import { listSweeps } from '../../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { outputsOf } from '../../cli/define-command.ts';
import { MEASURED_WORDS } from '../../selection/measured-fields.ts';
import type { Io } from '../../cli/io.ts';
import { packageFolder, storePath } from '../../cli/store-location.ts';
import type { ValueKind, Candidate } from './wanted.ts';
import { METRIC_IDS, metricOf, metricWord } from '../../records/metric.ts';
import { engineLabel } from '../../records/engine.ts';
import { shownName } from '../engines/index.ts';

const MOST = 200;
const KEY_LENGTH = 8;
const SHORTEST_KEY = 2;

export async function lookUp(
  kind: ValueKind,
  typed: string,
  db: string | undefined,
  program: CommandUnknownOpts,
  io: Io,
): Promise<readonly Candidate[]> {
  const stored = (read: (store: StoreDatabase) => Candidate[]): Candidate[] =>
    peekIntoStore(storePath(db, io), read) ?? [];
  switch (kind) {
    case 'matrix':
      return matrices(io.cwd);
    case 'cell':
      return stored((store) => cells(store, typed));
    case 'metric':
      return METRIC_IDS.map((id) => ({ value: metricWord(id), meaning: metricOf(id).label }));
    case 'measured':
      return [...MEASURED_WORDS].flatMap(([field, words]) =>
        words.map((word) => ({ value: `${field}=${word}`, meaning: '' })),
      );
    case 'ref':
      return stored((store) => [...sweeps(store), ...baselines(store, 'baseline:'), ...branches(store)]);
    case 'sweep':
      return stored(sweeps);
    case 'baseline':
      return stored((store) => baselines(store, ''));
    case 'branch':
      return stored(branches);
    case 'finding':
      return stored(findings);
    case 'engine':
      return engines(storePath(db, io));
    case 'recording':
      return folders(join(packageFolder(), 'recordings'));
    case 'schema':
      return ['matrix', ...Object.keys(outputsOf(program))].map((value) => ({ value, meaning: '' }));
    case 'topic':
      return [...GENERAL_TOPICS, ...metricTopics()].map(({ description, name }) => ({
        value: name,
        meaning: description,
      }));
  }
}

/** Models and labels; keys only once one is begun. */
function cells(store: StoreDatabase, typed: string): Candidate[] {
  const known = allCells(store);
  const isKey = typed.length >= SHORTEST_KEY && /^[0-9a-f]+$/.test(typed);
  const models = [...new Set(known.map(({ model }) => model))];
  return [
    ...models.map((value) => ({ value, meaning: 'all cells of the model' })),
    ...known.slice(0, MOST).map((cell) => ({ value: cellLabel(cell), meaning: short(cell.key) })),
    ...(isKey ? known.map((cell) => ({ value: short(cell.key), meaning: cellLabel(cell) })) : []),
  ];
}

function sweeps(store: StoreDatabase): Candidate[] {
  const listed = listSweeps(store, 20).map(({ branch, matrix, name, startedAt, sweepId }) => ({
    value: short(sweepId),
    meaning: [startedAt?.slice(0, 16).replace('T', ' '), name ?? matrix, branch]
      .filter((part) => part !== undefined && part !== null)
      .join(' · '),
  }));
  return [
    { value: 'latest', meaning: 'the newest sweep' },
    { value: 'latest~1', meaning: 'the one before' },
    ...listed,
  ];
}

function baselines(store: StoreDatabase, prefix: string): Candidate[] {
  return listBaselines(store).map(({ name, reason }) => ({ value: `${prefix}${name}`, meaning: reason ?? 'baseline' }));
}

function branches(store: StoreDatabase): Candidate[] {
  return storedBranches(store).map((value) => ({ value, meaning: 'branch' }));
}

function findings(store: StoreDatabase): Candidate[] {
  const labels = new Map(allCells(store).map((cell) => [cell.key, cellLabel(cell)]));
  return findingNames(store, MOST).map(({ cellKey, changePercent, direction, findingId }) => ({
    value: short(findingId),
    meaning: `${direction} ${changePercent.toFixed(1)} %: ${labels.get(cellKey) ?? ''}`,
  }));
}

function matrices(cwd: string): Candidate[] {
  return [cwd, join(cwd, 'matrices')].flatMap((folder) =>
    namesIn(folder)
      .filter((name) => /\.ya?ml$/.test(name))
      .slice(0, MOST)
      .filter((name) => isMatrix(join(folder, name)))
      .map((name) => ({ value: folder === cwd ? name : `matrices/${name}`, meaning: 'matrix' })),
  );
}

function isMatrix(path: string): boolean {
  try {
    return /^(?:models|extends):/m.test(readFileSync(path, 'utf8'));
  } catch {
    return false;
  }
}

function folders(folder: string): Candidate[] {
  return namesIn(folder).map((value) => ({ value, meaning: 'recorded runs' }));
}

function short(id: string): string {
  return id.slice(0, KEY_LENGTH);
}

/** Next to a store; none when their folder cannot be read. What reads their notes is loaded for this alone. */
async function engines(store: string): Promise<Candidate[]> {
  try {
    const { EngineCache } = await import('../../engines/engine-cache.ts');
    const found = await new EngineCache(enginesFolderOf(store)).contents({ hashes: false });
    return found.engines.map((engine) => ({ value: shownName(engine.name), meaning: engineLabel(engine) }));
  } catch {
    return [];
  }
}
