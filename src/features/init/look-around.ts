import { resolve } from 'node:path';

import { readPythonVersions } from '../../tools/modelopt/names.ts';
import { formatTensorrtVersion } from '../../text/version.ts';
import type { Possibilities } from './draft/draft-precisions.ts';
import { versionInMarkers } from '../../trtexec/log/marker.ts';
import { Dialect } from '../../trtexec/arguments/dialect.ts';
import { pythonFacts } from '../../machine/machine-tools.ts';
import { trtexecFacts } from '../../trtexec/program/trtexec-facts.ts';
import { gpusFacts } from '../doctor/index.ts';
import type { Io } from '../../cli/io.ts';

export interface Surroundings {
  readonly possibilities: Possibilities;
  readonly trtexec: { readonly path: string; readonly version: string | null } | null;
  /** Absolute, when a flag named it: it would not be found without being named. */
  readonly statedTrtexec: string | null;
  readonly gpus: readonly string[];
  /** Lines for the head of the matrix. */
  readonly found: readonly string[];
  readonly lacking: readonly string[];
}

const PATIENCE = { toolMs: 10_000, trtexecMs: 30_000 };

/** What of this machine decides what a matrix may ask for. */
export async function lookAround(stated: string | undefined, io: Io): Promise<Surroundings> {
  const { cwd, env, signal } = io;
  const [{ trtexec }, gpus, python] = await Promise.all([
    trtexecFacts({
      flag: stated,
      matrix: null,
      env,
      cwd,
      signal,
      timeoutMs: PATIENCE.trtexecMs,
      readVersion: versionInMarkers,
    }),
    gpusFacts(env, PATIENCE.toolMs),
    pythonFacts(env, PATIENCE.toolMs),
  ]);
  const help = trtexec.kind === 'found' ? trtexec.help : null;
  const version = help?.kind === 'version' ? help.version : null;
  const refusal = version === null ? null : new Dialect(version).refusal;
  const names = gpus.kind === 'report' ? gpus.gpus.map(({ name }) => name ?? 'a GPU') : [];
  const answer = python.answer.kind === 'answered' ? readPythonVersions(python.answer.text) : null;
  const modelopt = answer?.packages.find(([name]) => name === 'nvidia-modelopt')?.[1] ?? null;
  const lacking = [
    ...(trtexec.kind === 'missing' ? [trtexec.problem] : []),
    ...(help?.kind === 'failed' ? [help.problem] : []),
    ...(refusal === null ? [] : [refusal]),
    ...(names.length === 0 ? ['a GPU: nvidia-smi shows none'] : []),
  ];
  return {
    possibilities: { version, hasModelopt: modelopt !== null },
    trtexec:
      trtexec.kind === 'missing' ? null : { path: trtexec.path, version: version && formatTensorrtVersion(version) },
    statedTrtexec: stated === undefined || trtexec.kind === 'missing' ? null : resolve(cwd, stated),
    gpus: names,
    found: [
      version === null
        ? `trtexec: ${help === null ? 'none was found' : 'it did not say its version'}, so only what every version can do is asked for`
        : `trtexec ${formatTensorrtVersion(version)}`,
      names.length === 0 ? 'GPU: none was seen' : `GPU: ${names.join(', ')}`,
      ...(names.length > 1 ? ['Several GPUs at the same time: bench run --gpus all'] : []),
      modelopt === null
        ? 'ModelOpt: none, so no FP8, INT8 or INT4 is made here'
        : `ModelOpt ${modelopt}: makes FP16, FP8, INT8 and INT4 from a base model`,
    ],
    lacking,
  };
}
