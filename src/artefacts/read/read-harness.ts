import { faulty } from '../../harnesses/driver.ts';
import { findDriver } from '../../harnesses/registry.ts';
import type { HarnessResult } from '../../records/harness.ts';
import { type MetricId, isCustomMetric, metricOf } from '../../records/metric.ts';
import type { Evidence, Outcome, RunFlag } from '../../records/outcome.ts';
import { disorder } from '../../trtexec/log/check-numbers.ts';
import { disturbed, endedByOthers, failed, signalOf, unfitFor } from '../../trtexec/log/judge.ts';
import type { ProcessFacts } from '../../trtexec/run-facts.ts';
import type { RunFiles } from '../run-files.ts';
import type { RunManifest } from '../run-manifest.ts';

export type DrivenFiles = NonNullable<Awaited<ReturnType<typeof readHarness>>>;

/** Reports are never larger; logs may be, but only their end counts. */
const MAX_BYTES = 64 << 20;
const MAX_EVIDENCE_CHARACTERS = 500;

/** What the driver reads from the files of a run, and the last line on standard error; null for trtexec. */
export async function readHarness(files: RunFiles, { cell, harness, lone: standalone }: RunManifest) {
  if (standalone?.kind === 'report') return { result: await readStandalone(files, standalone), lastError: null };
  if (harness === null) return null;
  const texts = new Map<string, string>();
  const own = files.names.filter((name) => !name.includes('/'));
  for (const name of own) texts.set(name, await tailOf(files, name));
  const driver = findDriver(harness.driver);
  const text = (name: string): string | null => texts.get(name) ?? null;
  const metric = cell !== null && 'harness' in cell ? cell.harness?.metric : undefined;
  const lacking = `this version of bench has no driver ${harness.driver}: where it is a plug-in, import with --as ./FILE.js`;
  const result = driver === null ? faulty(lacking) : withItsMetric(driver.read(harness.settings, { text }), metric);
  return { result, lastError: lastLineOf(texts.get('stderr.log') ?? '') };
}

/** A reading without the metric that its cell is judged by is not a measurement. */
function withItsMetric(result: HarnessResult, metric: MetricId = 'latencyMs'): HarnessResult {
  if (result.kind === 'faulty' || !isCustomMetric(metric)) return result;
  const value = result.reading.values.find((each) => each.metric === metric)?.value;
  if (value !== undefined && value > 0) return result;
  const { label } = metricOf(metric);
  if (value === undefined) return faulty(`no value of ${label}, the metric of its verdicts`);
  return faulty(`${label} is not a number above 0: ${value}`);
}

type StandaloneReport = Extract<RunManifest['lone'], { kind: 'report' }>;

/** One report in a standalone file. The user may have stated its timer. */
async function readStandalone(files: RunFiles, standalone: StandaloneReport): Promise<HarnessResult> {
  const { driver: kind, file, index, metric, name, pattern, timer } = standalone;
  const driver = findDriver(kind);
  if (driver === null) return faulty(`this version of bench has no driver ${kind}`);
  const result = driver.reports(await tailOf(files, name), file, metric, pattern)[index]?.result;
  if (result === undefined) return faulty(`${name} no longer has report ${index + 1}`);
  if (result.kind === 'faulty') return result;
  const { reading } = result;
  return { kind: 'read', reading: { ...reading, method: { ...reading.method, timer } } };
}

async function tailOf(files: RunFiles, name: string): Promise<string> {
  const kept: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of files.chunks(name)) {
      kept.push(chunk);
      bytes += chunk.length;
      while (bytes > MAX_BYTES) bytes -= kept.shift()?.length ?? bytes;
    }
  } catch {
    // Judge the part that could be read. The code that takes the hash notes the truncation.
  }
  return Buffer.concat(kept).toString('utf8');
}

function lastLineOf(text: string): Evidence | null {
  const lines = text.split('\n');
  const place = lines.findLastIndex((line) => line.trim() !== '');
  const line = lines[place];
  if (line === undefined) return null;
  return { stream: 'stderr', line: place + 1, text: line.slice(0, MAX_EVIDENCE_CHARACTERS) };
}

/** A nonzero exit code is a failure regardless of the output. `lastError` is the last line on standard error. */
export function judgeHarness(
  result: HarnessResult,
  process: ProcessFacts,
  lastError: Evidence | null,
  flags: readonly RunFlag[],
): Outcome {
  const contradiction = result.kind === 'read' ? disorder(result.reading) : null;
  return (
    endedByOthers(process) ??
    exitedBadly(process, lastError, result) ??
    (result.kind === 'faulty' ? failed('incomplete', result.problem) : null) ??
    (contradiction === null ? null : unfitFor('suspectErrors', contradiction)) ??
    disturbed(flags) ?? { kind: 'measured', evidence: [] }
  );
}

function exitedBadly(process: ProcessFacts, lastError: Evidence | null, result: HarnessResult): Outcome | null {
  const signal = signalOf(process);
  if (signal === null && (process.exitCode ?? 0) === 0) return null;
  const how = signal === null ? `exit code ${process.exitCode}` : `crashed by ${signal}`;
  const why = result.kind === 'faulty' ? result.problem : 'standard error is empty';
  if (lastError === null) return failed('unknown', `${how}: ${why}`);
  return failed(/out of memory|OutOfMemoryError/i.test(lastError.text) ? 'outOfMemory' : 'unknown', lastError, how);
}
