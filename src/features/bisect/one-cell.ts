import type { KeyedCell } from '../../records/cell.ts';
import type { Matrix } from '../../matrix/matrix.ts';
import { type Plan, PLACEHOLDERS, type PlannedBuild, type PlannedRun } from '../../records/plan.ts';
import { recordedRuns } from '../../trtexec/replay/check-plan.ts';
import type { TrtexecProgram } from '../../trtexec/program/trtexec-program.ts';
import { namedCell, onlyCell } from '../../selection/by-name.ts';
import { prepare, readMatrix } from '../plan/index.ts';
import { BrokenSubjectError } from '../../run/checkout/user-command.ts';
import type { OpenedSubject } from './subject.ts';

/** How one subject measures the cell. */
export interface OneCell extends Pick<Matrix, 'lockClocks' | 'coolDown' | 'numa'> {
  readonly cell: KeyedCell;
  readonly program: TrtexecProgram;
  /** Maximum number of runs; infinite for a real trtexec. */
  readonly capacity: number;
  /** The plan of its first runs, this many. */
  readonly planOf: (runs: number) => Plan;
}

/** There is one cell: the seed orders nothing. */
const SEED = 1;

/**
 * @param named the cell as requested; null when the matrix has one
 * @param key the key that every subject's cell must have, once known
 */
export async function planOneCell(opened: OpenedSubject, named: string | null, key: string | null): Promise<OneCell> {
  const { matrix, trtexec, replay, io } = opened;
  const cells = readMatrix(matrix, io).cells.map(({ cell }) => cell);
  const cell = key === null ? cellNamed(cells, named) : cells.find((entry) => entry.key === key);
  if (cell === undefined) throw new BrokenSubjectError('its matrix does not have the cell');
  const stating = { ...(trtexec === null ? {} : { trtexec }), ...(replay === null ? {} : { replay }) };
  const stated = { filter: `key=${cell.key}`, repeats: 1, builds: 1, seed: SEED, ...stating };
  const prepared = await prepare(matrix, stated, 'models needed', io);
  const { plan, program, set } = prepared;
  const { lockClocks, coolDown, numa } = prepared.matrix;
  if (program === null) throw new BrokenSubjectError('there is no trtexec');
  const builds = plan.builds.map((build) => withOwnFiles(build, opened));
  const variants = plan.variants.map((variant) => ({ ...variant, onnxPath: opened.model ?? variant.onnxPath }));
  const template = plan.runs.find(({ role }) => role === 'timed');
  return {
    cell,
    program,
    lockClocks,
    coolDown,
    numa,
    capacity: set === null ? Infinity : recordedRuns(set, plan, cell.key),
    planOf: (runs) => ({ ...plan, variants, builds, repeats: runs, runs: repeated(template, runs) }),
  };
}

function cellNamed(cells: readonly KeyedCell[], named: string | null): KeyedCell {
  return named === null ? onlyCell(cells, 'the matrix has', cells) : namedCell(cells, named);
}

function repeated(template: PlannedRun | undefined, runs: number): PlannedRun[] {
  return template === undefined ? [] : Array.from({ length: runs }, (_, place) => ({ ...template, repeat: place + 1 }));
}

function withOwnFiles(build: PlannedBuild, { model, timingCache }: OpenedSubject): PlannedBuild {
  const shared = `--timingCacheFile=${PLACEHOLDERS.timingCache}`;
  const args = build.args
    .filter((arg) => timingCache === null || arg !== shared)
    .map((arg) => (model !== null && arg === `--onnx=${build.onnxPath}` ? `--onnx=${model}` : arg));
  return {
    ...build,
    // A bisection looks for the effect of a new engine.
    isFrozen: false,
    onnxPath: model ?? build.onnxPath,
    args: timingCache === null ? args : [...args, `--timingCacheFile=${timingCache}`],
  };
}
