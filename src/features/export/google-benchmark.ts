import { itemsPerS } from '../../records/cell.ts';
import { environmentOf, measuredRuns, type ReportedCell, type ReportedSweep, rounded } from './reported-sweep.ts';

/**
 * The JSON of google-benchmark's reporter, one entry for each run, so that its `compare.py` can test repeats against
 * repeats. `real_time` is the median GPU compute time, `cpu_time` the median time to enqueue; both of a query.
 */
export function googleBenchmarkJson(report: ReportedSweep) {
  const [sweep] = report.sweeps;
  return {
    context: {
      date: sweep.startedAt ?? '',
      host_name: sweep.host ?? '',
      executable: 'bench',
      library_build_type: 'release',
      matrix: sweep.matrix ?? '',
      commit: sweep.commit ?? '',
      provenance: sweep.provenance,
      tensorrt: sweep.tensorrt ?? '',
    },
    benchmarks: report.cells.flatMap((cell, family) => entriesOf(cell, family, report)),
  };
}

function entriesOf(cell: ReportedCell, family: number, { environments }: ReportedSweep) {
  const runs = measuredRuns(cell);
  return runs.flatMap(({ queries, values }, index) => {
    const { enqueueMs, gpuComputeMs, latencyMs, p99Ms, throughputQps } = values;
    if (gpuComputeMs === null) return [];
    return [
      {
        name: cell.name,
        family_index: family,
        per_family_instance_index: 0,
        run_name: cell.name,
        run_type: 'iteration',
        repetitions: runs.length,
        repetition_index: index,
        threads: 1,
        iterations: queries ?? 0,
        real_time: rounded(gpuComputeMs * 1000),
        cpu_time: rounded((enqueueMs ?? 0) * 1000),
        // `compare.py` prints whole numbers.
        time_unit: 'us',
        ...present({
          items_per_second: itemsPerS(cell.cell.shapes, throughputQps),
          throughput_qps: throughputQps,
          latency_ms: latencyMs,
          latency_p99_ms: p99Ms,
        }),
        label: environmentOf(cell, environments)?.gpuName ?? '',
      },
    ];
  });
}

function present(values: Readonly<Record<string, number | null>>): Record<string, number> {
  return Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}
