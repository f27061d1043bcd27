import * as z from 'zod';

import { median } from '../../statistics/median.ts';
import type { HarnessFiles } from '../driver.ts';
import { readReport } from '../json-report.ts';

/** Nanoseconds of each unit that google-benchmark prints. */
const NS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

/** `src/json_reporter.cc` of google/benchmark, from 1.5 on; aggregates follow from the repetitions. */
const reportSchema = z.object({
  context: z.object({ library_version: z.string().optional() }).optional(),
  benchmarks: z.array(
    z.object({
      name: z.string(),
      run_name: z.string().optional(),
      run_type: z.string().optional(),
      error_occurred: z.boolean().optional(),
      error_message: z.string().optional(),
      real_time: z.number().optional(),
      time_unit: z.enum(['ns', 'us', 'ms', 's']).default('ns'),
    }),
  ),
});

type Times =
  | {
      readonly kind: 'read';
      readonly libraryVersion: string | null;
      /** Median of the repetitions of each benchmark, wall time of one iteration. */
      readonly nsByName: ReadonlyMap<string, number>;
    }
  | { readonly kind: 'faulty'; readonly problem: string };

export function readTimes(files: HarnessFiles, name: string): Times {
  const report = readReport(reportSchema, files, name, 'is it a report of google-benchmark?');
  if (report.kind === 'faulty') return report;
  const { benchmarks, context } = report.data;
  const runs = benchmarks.filter(({ run_type: type }) => type !== 'aggregate');
  const broken = runs.find(({ error_occurred: hasError }) => hasError === true);
  if (broken !== undefined) {
    const said = broken.error_message ?? 'an error without a word';
    return { kind: 'faulty', problem: `${name}: ${broken.name}: ${said}` };
  }
  const byName = Map.groupBy(runs, (run) => run.run_name ?? run.name);
  const nsByName = new Map<string, number>();
  for (const [benchmark, repetitions] of byName) {
    const times = repetitions.flatMap(({ real_time: time, time_unit: unit }) =>
      time === undefined ? [] : [time * NS[unit]],
    );
    const middle = times.length === repetitions.length ? median(times) : null;
    if (middle === null) return { kind: 'faulty', problem: `${name}: ${benchmark}: no real_time` };
    nsByName.set(benchmark, middle);
  }
  return { kind: 'read', libraryVersion: context?.library_version ?? null, nsByName };
}
