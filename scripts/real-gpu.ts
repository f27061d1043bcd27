/**
 * Tries bench on a machine with a GPU and trtexec, and writes a report in which every check is a line with its figure.
 *
 *     node scripts/real-gpu.ts numbers --models FOLDER --out FOLDER     at most nine minutes each; also: referee,
 *                                                                       confirm (after it, same --out), gpus,
 *                                                                       precision, versions (--other-trtexec PATH)
 *
 * The folder of models holds resnet.onnx and vit.onnx, and resnet_fp8.onnx and vit_fp8.onnx (`bench model quantize`),
 * with one input `input: [batch, 3, 224, 224]`.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';

import { execa } from 'execa';

import { findTrtexec } from '../src/trtexec/program/find-trtexec.ts';
import { visitConfirm } from './real-gpu/confirm.ts';
import { visitNumbers } from './real-gpu/numbers.ts';
import { visitPrecision } from './real-gpu/precision.ts';
import { visitReferee } from './real-gpu/referee.ts';
import { visitSeveralGpus } from './real-gpu/several-gpus.ts';
import { visitVersions } from './real-gpu/versions.ts';
import { Visit } from './real-gpu/visit.ts';

const VISITS = new Map([
  ['numbers', visitNumbers],
  ['referee', visitReferee],
  ['confirm', visitConfirm],
  ['gpus', visitSeveralGpus],
  ['precision', visitPrecision],
  ['versions', visitVersions],
]);

/** @throws {Error} for what cannot be begun, in one line */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      models: { type: 'string' },
      out: { type: 'string', default: 'real-gpu' },
      'other-trtexec': { type: 'string' },
      trtexec: { type: 'string' },
      only: { type: 'string' },
      limit: { type: 'string', default: '540' },
    },
  });
  const [name = ''] = positionals;
  const body = VISITS.get(name);
  if (positionals.length !== 1 || body === undefined || values.models === undefined) {
    throw new Error(
      `usage: node scripts/real-gpu.ts ${[...VISITS.keys()].join('|')} --models FOLDER [--out FOLDER] [--trtexec PATH] [--limit SECONDS] [--only PART]`,
    );
  }
  const limitS = Number(values.limit);
  if (!(limitS > 0)) throw new Error(`--limit ${values.limit}: give seconds`);
  const models = modelsIn(resolve(values.models));
  if (models.size === 0) throw new Error(`--models ${values.models}: no *.onnx in it`);
  const trtexec = findTrtexec({ flag: values.trtexec, matrix: null, env: process.env, cwd: process.cwd() });
  const help = await execa(trtexec, ['--help'], { reject: false });
  if (help.exitCode !== 0) throw new Error(`${trtexec} --help fails: give --trtexec PATH`);
  const otherTrtexec = values['other-trtexec'] ?? null;
  if (name === 'versions' && otherTrtexec === null) throw new Error('which other one? Give --other-trtexec PATH');
  const visit = new Visit({
    name,
    folder: resolve(values.out),
    command: [process.execPath, join(import.meta.dirname, '..', 'bin', 'bench.js')],
    trtexec,
    otherTrtexec,
    models,
    only: values.only ?? null,
    limitS,
    clock: () => (performance.timeOrigin + performance.now()) / 1000,
    print: (line) => process.stdout.write(`${line}\n`),
  });
  const query = ['--query-gpu=name,driver_version', '--format=csv,noheader'];
  const gpus = await execa('nvidia-smi', query, { reject: false });
  visit.facts.set('date', new Date().toISOString().slice(0, 10));
  visit.facts.set('GPU and driver', (gpus.stdout ?? 'no nvidia-smi').replaceAll('\n', '; '));
  visit.facts.set('TensorRT', help.stdout.split('\n')[0] ?? '');
  await body(visit);
  process.stdout.write(`\n${visit.report()}`);
  process.exitCode = visit.checks.some(({ isOk }) => isOk === false) ? 1 : 0;
}

function modelsIn(folder: string): Map<string, string> {
  const names = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.onnx')) : [];
  return new Map(
    names.map((file) => [basename(file, '.onnx').replace(/_(?:tiny|small|base)/, ''), join(folder, file)]),
  );
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message.split('\n')[0] : String(error)}\n`);
  process.exitCode = 2;
}
