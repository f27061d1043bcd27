import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import * as z from 'zod';

import { findTool, ROOT, runProcess } from '../processes.ts';
import { inTemporaryFolder } from '../temporary-folder.ts';
import { jsonLines, type LabelledCell, type LabelledHistory } from './labelled.ts';
import { type Alarm, firstTellings, type NightAlarm, questionNights } from './score.ts';
import type { CellVerdict } from './score-cells.ts';

/** What the peers say, by peer and then by history or cell. */
type Answers<Answer> = ReadonlyMap<string, ReadonlyMap<string, Answer>>;

export interface PeerResults<Answer> {
  readonly answers: Answers<Answer>;
  /** Milliseconds a history or cell, one core, the peers in turn; the time to start Python is not in it. */
  readonly timesMs: ReadonlyMap<string, number>;
}

const SCRIPT = join(import.meta.dirname, 'peers.py');
const REQUIREMENTS = join(import.meta.dirname, 'peers-requirements.txt');
const ENVIRONMENT = join(ROOT, '.cache', 'detection-peers');

/** Python with the peers in it, from the package index when it is not there yet. Null without a `python3`. */
export async function peersPython(): Promise<string | null> {
  const { path } = findTool('python3');
  if (path === null) return null;
  const python = join(ENVIRONMENT, 'bin', 'python');
  const stamp = join(ENVIRONMENT, 'requirements.sha256');
  const wanted = createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return python;
  process.stderr.write(`installing the peers into ${ENVIRONMENT} …\n`);
  rmSync(ENVIRONMENT, { recursive: true, force: true });
  await runProcess(path, ['-m', 'venv', ENVIRONMENT]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
  await runProcess(python, [...pip, '--requirement', REQUIREMENTS]);
  writeFileSync(stamp, wanted);
  return python;
}

const alarmSchema = z
  .tuple([z.number(), z.union([z.literal(-1), z.literal(0), z.literal(1)])])
  .transform(([index, sign]): Alarm => ({ index, sign }));

const timeSchema = z.object({ peer: z.string(), msPerRecord: z.number() });

const historySchema = z.union([
  timeSchema,
  z.object({ peer: z.string(), id: z.string(), alarms: z.array(alarmSchema) }),
]);

const nightSchema = z.object({ peer: z.string(), id: z.string(), night: z.number(), alarms: z.array(alarmSchema) });

const cellSchema = z.union([timeSchema, z.object({ peer: z.string(), id: z.string(), sign: z.number() })]);

/** The peers on whole histories. */
export async function peerAlarms(
  python: string,
  histories: readonly LabelledHistory[],
): Promise<PeerResults<readonly Alarm[]>> {
  const lines = await ask(python, 'histories', histories.map(withoutLabels), historySchema);
  const said = lines.flatMap((line) => ('id' in line ? [line] : []));
  return {
    answers: byPeer(said, (answers) => new Map(answers.map(({ id, alarms }) => [id, alarms]))),
    timesMs: timesOf(lines.flatMap((line) => ('msPerRecord' in line ? [line] : []))),
  };
}

/** The peers asked every night with only the past: they have no memory, so the first telling of each place counts. */
export async function peerNightAlarms(
  python: string,
  histories: readonly LabelledHistory[],
): Promise<Answers<readonly NightAlarm[]>> {
  const requested = histories.map((history) => ({ ...withoutLabels(history), requested: questionNights(history) }));
  const lines = await ask(python, 'nightly', requested, nightSchema);
  return byPeer(lines, (answers) => {
    const byId = Map.groupBy(answers, ({ id }) => id);
    return new Map(histories.map((history) => [history.id, firstTellings(history, byId.get(history.id) ?? [])]));
  });
}

/** The peers on two commits. */
export async function peerVerdicts(python: string, cells: readonly LabelledCell[]): Promise<PeerResults<CellVerdict>> {
  const plain = cells.map(({ cell, a, b }) => ({ cell, a, b }));
  const lines = await ask(python, 'cells', plain, cellSchema);
  const said = lines.flatMap((line) => ('id' in line ? [line] : []));
  return {
    answers: byPeer(said, (answers) => new Map(answers.map(({ id, sign }) => [id, wordOf(sign)]))),
    timesMs: timesOf(lines.flatMap((line) => ('msPerRecord' in line ? [line] : []))),
  };
}

function withoutLabels({ id, values }: LabelledHistory): Pick<LabelledHistory, 'id' | 'values'> {
  return { id, values };
}

function ask<Line>(python: string, what: string, records: readonly object[], schema: z.ZodType<Line>): Promise<Line[]> {
  return inTemporaryFolder(async (folder) => {
    const file = join(folder, 'records.jsonl');
    writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    const { stdout } = await runProcess(python, [SCRIPT, what, file]);
    return jsonLines(stdout, schema);
  });
}

function byPeer<Line extends { readonly peer: string }, Answer>(
  lines: readonly Line[],
  collect: (lines: readonly Line[]) => ReadonlyMap<string, Answer>,
): Answers<Answer> {
  const groups = Map.groupBy(lines, ({ peer }) => peer);
  return new Map([...groups].map(([peer, members]) => [peer, collect(members)]));
}

function timesOf(lines: readonly z.infer<typeof timeSchema>[]): ReadonlyMap<string, number> {
  return new Map(lines.map(({ peer, msPerRecord }) => [peer, msPerRecord]));
}

function wordOf(sign: number): CellVerdict {
  if (sign > 0) return 'larger';
  return sign < 0 ? 'smaller' : 'same';
}
