import { z } from 'zod';

import { OUTPUTS } from '../../test/support/outputs.ts';
import { checkLogs } from './logs.ts';
import { type MatrixOptions, matrixOf, writeMatrix } from './matrices.ts';
import { changesText, type Ended, NEWEST_SWEEP, type Visit } from './visit.ts';

// TensorRT 8.6 cannot parse the ViT.
const SMALL: MatrixOptions = { name: 'trt', models: ['resnet'], batches: [1, 8], cudaGraph: ['on', 'off'], repeats: 4 };

/** Two installations of TensorRT: their dialects, engines that are not shared, and what an upgrade changes. */
export async function visitVersions(visit: Visit): Promise<void> {
  const otherTrtexec = visit.place.otherTrtexec ?? '';
  await visit.part('older', 80, () => checkRun(visit, 'older', otherTrtexec));
  await visit.part('newer', 80, () => checkRun(visit, 'newer', visit.place.trtexec));
  await visit.part('what an upgrade changes', 10, () => checkUpgrade(visit));
  await visit.part('engines', 20, () => checkEngines(visit, otherTrtexec));
  await visit.part('logs', 0, () => checkLogs(visit));
}

async function checkRun(visit: Visit, name: string, trtexec: string): Promise<void> {
  await visit.run([writeMatrix(visit, SMALL), '--trtexec', trtexec, '--profile']);
  const versions = visit.rows(
    z.object({ tensorrt: z.string().nullable(), n: z.number() }),
    `SELECT environments.tensorrt AS tensorrt, count(*) AS n FROM runs JOIN environments USING (environment_id)
       WHERE ${NEWEST_SWEEP} GROUP BY 1`,
  );
  visit.check(`the ${name} version is stored`, versions.length === 1, JSON.stringify(versions));
}

/** An engine of one version, given to the other: one line, and nothing measured. */
async function checkEngines(visit: Visit, otherTrtexec: string): Promise<void> {
  const builds = visit.count('SELECT count(DISTINCT engine_key) n FROM builds');
  visit.check('no engine is shared', builds === 2, `${builds} engines of a model for 2 versions`);
  const [own] = visit.rows(
    z.object({ key: z.string() }),
    `SELECT runs.engine_sha256 AS key FROM runs JOIN cells USING (cell_key) WHERE model = 'resnet' AND role = 'timed'
       ORDER BY runs.started_at DESC LIMIT 1`,
  );
  const engine = visit.engines().find((path) => path.includes(own?.key ?? 'none')) ?? '';
  const small = z
    .looseObject({ models: z.looseObject({ resnet: z.looseObject({}) }) })
    .parse(matrixOf(visit, { ...SMALL, repeats: 1 }));
  const { onnx: _, precisions: __, ...rest } = small.models.resnet;
  const given = { ...small, name: 'given', build: {}, models: { resnet: { ...rest, engine } } };
  const ended = await visit.bench(['run', visit.file('given.yaml', given), '--trtexec', otherTrtexec]);
  const isRefused = ended.code !== 0 && /another TensorRT|built with TensorRT/.test(ended.stdout + ended.stderr);
  visit.check('an engine of the newer version is refused by the older', isRefused, `${ended.code}: ${lastLine(ended)}`);
}

async function checkUpgrade(visit: Visit): Promise<void> {
  const majors = visit.count("SELECT count(DISTINCT substr(tensorrt, 1, instr(tensorrt, '.'))) n FROM environments");
  const plain = await visit.bench(['compare', 'latest~1', 'latest']);
  const isRefused = !(plain.code === 0 || plain.code === 1);
  visit.check('only majors are not compared unasked', isRefused === majors > 1, `${plain.code}: ${lastLine(plain)}`);
  const args = ['compare', 'latest~1', 'latest', '--across-tensorrt'];
  const { cells, counts } = await visit.json(OUTPUTS.compare, args);
  visit.check('an upgrade in numbers', counts.incomparable === 0, changesText(cells));
  const [cell] = cells;
  if (cell === undefined) return;
  const { causes } = await visit.json(OUTPUTS.why, ['why', cell.label, 'latest~1', 'latest']);
  visit.check('why names TensorRT', JSON.stringify(causes).includes('TensorRT'), causes[0]?.title ?? 'no cause');
}

function lastLine({ stdout, stderr }: Ended): string {
  return `${stdout}\n${stderr}`.trim().split('\n').at(-1)?.trim() ?? '';
}
