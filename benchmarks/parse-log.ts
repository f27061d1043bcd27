/**
 * Reads a trtexec log with this program's parser, in a process of its own as `parse_trtexec_log.py` does:
 *
 *     node benchmarks/parse-log.ts LOG
 *
 * Prints the same JSON object under the same names.
 */
import { readChunks } from '../src/files/files.ts';
import type { TrtexecRun } from '../src/trtexec/log/run-builder.ts';
import { TrtexecLogParser } from '../src/trtexec/log/trtexec-log.ts';

const [path = ''] = process.argv.slice(2);
const start = performance.now();
const parser = new TrtexecLogParser();
for await (const chunk of readChunks(path)) parser.push(chunk);
const { runs } = parser.end();
const seconds = (performance.now() - start) / 1000;
const [only] = runs;
if (only === undefined || runs.length !== 1) throw new Error(`${runs.length} runs instead of one`);
process.stdout.write(JSON.stringify({ seconds, ...fieldsOf(only) }));

function fieldsOf({ build, device, measurement, ...run }: TrtexecRun) {
  const { throughputQps, hostWalltimeS, gpuTotalS, ...metrics } = measurement ?? {};
  return {
    commandLine: run.commandLine,
    closing: run.closingMarker,
    banner: run.banner,
    device: stated(device),
    build: stated(build),
    bindings: run.inputBindings,
    warmUpQueries: run.warmUpQueries,
    queries: run.queries,
    totals: stated({ throughputQps, hostWalltimeS, gpuTotalS }),
    metrics: stated(metrics),
    errors: run.errors.map(({ line, text }) => [line, text]),
  };
}

/** What was printed; claims that follow from several lines are left out. */
function stated(values: object): object {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && typeof value !== 'boolean'));
}
