import { MODELOPT_PACKAGES } from '../tools/modelopt/names.ts';
import { type Answer, ask } from '../process/ask.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';

export interface PythonFacts {
  readonly interpreter: string;
  /** True if `$BENCH_PYTHON` named it. */
  readonly isNamed: boolean;
  readonly answer: Answer;
}

/** Queries versions without importing anything, because an import of ModelOpt takes seconds. */
const PYTHON_VERSIONS = `
import json, platform, sys
from importlib import metadata
def version(names):
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
packages = json.loads(sys.argv[1])
print(json.dumps({
    "python": platform.python_version(),
    "packages": {name: version(names) for name, names in packages.items()},
}))
`;

/** @param stated the named interpreter; null for `$BENCH_PYTHON`, else the first `python3` on PATH */
export async function pythonFacts(
  env: EnvironmentVariables,
  timeoutMs: number,
  stated: string | null = null,
): Promise<PythonFacts> {
  const named = stated ?? env['BENCH_PYTHON'];
  const isNamed = named !== undefined && named !== '';
  const interpreter = isNamed ? named : 'python3';
  const args = ['-c', PYTHON_VERSIONS, JSON.stringify(MODELOPT_PACKAGES)];
  const answer = await ask(interpreter, args, { env, timeoutMs });
  return { interpreter, isNamed, answer };
}

/** The CUDA version of the TensorRT package: `10.6.0.26-1+cuda12.6`. Only Debian packages state it. */
export async function packageCuda(major: number, env: EnvironmentVariables, timeoutMs: number): Promise<number | null> {
  const args = ['--show', '--showformat=${Version}', `libnvinfer${major}`];
  const answer = await ask('dpkg-query', args, { env, timeoutMs });
  const cuda = answer.kind === 'answered' ? /\+cuda(\d+)\./.exec(answer.text)?.[1] : undefined;
  return cuda === undefined ? null : Number(cuda);
}
