import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import * as z from 'zod';

import { readJson } from '../../files/folders.ts';
import { UsageError } from '../../errors.ts';
import { isMetric } from '../../records/metric.ts';
import { textOrNull } from '../../records/scalars.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { printable } from '../../text/printable.ts';

const commits = { good: z.string(), bad: z.string(), goodRef: z.string(), badRef: z.string() };

/** The request. It is kept until there is an answer, so that `--resume` can repeat it. */
const requestSchema = z.object({
  startedAt: z.string(),
  cwd: z.string(),
  matrix: textOrNull,
  cell: textOrNull,
  metric: z.string().refine(isMetric).nullable(),
  trtexec: textOrNull,
  replay: textOrNull,
  maxRuns: z.number(),
  /** Measures again although results are stored. */
  restart: z.boolean(),
  search: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('commits'), ...commits, command: z.array(z.string()) }),
    z.object({ kind: z.literal('factors'), file: z.string() }),
  ]),
});

export type BisectRequest = z.infer<typeof requestSchema>;
export type CommitRequest = Extract<BisectRequest['search'], { kind: 'commits' }>;

/** Equal for equal requests. Revisions count by commit, not by the given name. */
export function idOfRequest({ search, ...request }: BisectRequest): string {
  const asked = { ...request, startedAt: '', restart: false };
  return hashOf({ ...asked, search: search.kind === 'commits' ? { ...search, goodRef: '', badRef: '' } : search });
}

export function requestFile(folder: string): string {
  return join(folder, 'request.json');
}

/** The form of the previous version. */
const earlierSchema = z.object({
  isFinished: z.literal(false),
  request: z.object({ search: z.union([z.object(commits), z.object({ file: z.string() })]) }),
});

/**
 * The newest request without an answer.
 * @param all folder of all bisections
 * @throws UsageError if there is none; it names one that an earlier version began
 */
export function newestUnfinished(all: string): BisectRequest {
  const folders = existsSync(all) ? readdirSync(all).map((name) => join(all, name)) : [];
  const requests = folders.flatMap((folder) => readJson(requestFile(folder), requestSchema) ?? []);
  const newest = requests.toSorted((a, b) => (a.startedAt < b.startedAt ? 1 : -1))[0];
  if (newest !== undefined) return newest;
  const [earlier] = folders.flatMap((folder) => readJson(join(folder, 'state.json'), earlierSchema) ?? []);
  if (earlier === undefined) throw new UsageError('nothing to resume: no bisection was interrupted');
  const { search } = earlier.request;
  const what = 'file' in search ? `--factors ${printable(search.file)}` : `${search.good} ${search.bad}`;
  throw new UsageError(`an earlier version of bench started this bisection: start it again with bench bisect ${what}`);
}
