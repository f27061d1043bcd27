import type { TimeStatistics } from '../../records/measurement.ts';

/** One block of the benchmarking guide's harness, as it stands in some output. */
export interface LatencyBlock {
  /** Line of its header, from 1. */
  readonly line: number;
  /** Comments right above it, without their `#`. */
  readonly comments: readonly string[];
  readonly timedRuns: number;
  /** A problem in one line where a value is missing. */
  readonly latencyMs: TimeStatistics | string;
}

const HEADER = /^\s*Latency over (\d+) runs? \(ms\):\s*$/;
const ROW = /^\s*(Mean|Median|Min|Max|P\d+(?:\.\d+)?):\s*(\S+)\s*$/;
const COMMENT = /^\s*#\s*(.*)$/;
/** What the harness prints; each is needed. */
const ROWS = ['Mean', 'Median', 'Min', 'Max', 'P90', 'P95', 'P99'] as const;

/** Every block in an output, in its order. */
export function latencyBlocks(text: string): LatencyBlock[] {
  const lines = text.split(/\r?\n/);
  return lines.flatMap((line, place) => {
    const runs = HEADER.exec(line)?.[1];
    if (runs === undefined) return [];
    return [
      {
        line: place + 1,
        comments: commentsAbove(lines, place),
        timedRuns: Number(runs),
        latencyMs: statisticsBelow(lines, place),
      },
    ];
  });
}

function commentsAbove(lines: readonly string[], header: number): string[] {
  const comments: string[] = [];
  for (let place = header - 1; place >= 0; place -= 1) {
    const comment = COMMENT.exec(lines[place] ?? '')?.[1];
    if (comment === undefined) break;
    comments.unshift(comment);
  }
  return comments;
}

function statisticsBelow(lines: readonly string[], header: number): TimeStatistics | string {
  const rows = new Map<string, number>();
  for (let place = header + 1; place < lines.length; place += 1) {
    const [, name, value = ''] = ROW.exec(lines[place] ?? '') ?? [];
    if (name === undefined) break;
    const ms = Number(value);
    if (!(ms >= 0 && Number.isFinite(ms))) return `line ${place + 1}: ${name} is no time: ${value}`;
    rows.set(name, ms);
  }
  const missing = ROWS.filter((name) => !rows.has(name));
  if (missing.length > 0) {
    return `line ${header + 1}: the block of latencies has no ${missing.join(', ')}`;
  }
  const ms = (name: string): number => rows.get(name) ?? Number.NaN;
  return {
    min: ms('Min'),
    max: ms('Max'),
    mean: ms('Mean'),
    median: ms('Median'),
    percentiles: Object.fromEntries(
      [...rows].flatMap(([name, value]) => (/^P\d/.test(name) ? [[name.slice(1), value]] : [])),
    ),
  };
}
