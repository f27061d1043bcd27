import type { PythonFacts, ToolAnswer } from '../domain/machine-facts.ts';
import { askProgram } from './ask-program.ts';
import type { EnvironmentVariables } from './environment-variables.ts';

/** Asks for versions without importing anything: an import of ModelOpt takes seconds. */
const PYTHON_VERSIONS = `
import json, platform
from importlib import metadata
def version(*names):
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
print(json.dumps({
    "python": platform.python_version(),
    "packages": {
        "nvidia-modelopt": version("nvidia-modelopt"),
        "onnx": version("onnx"),
        "onnxruntime": version("onnxruntime", "onnxruntime-gpu"),
    },
}))
`;

export async function pythonFacts(
  env: EnvironmentVariables,
  timeoutMs: number,
): Promise<PythonFacts> {
  const named = env['BENCH_PYTHON'];
  const isNamed = named !== undefined && named !== '';
  const interpreter = isNamed ? named : 'python3';
  const answer = await askProgram(interpreter, ['-c', PYTHON_VERSIONS], env, timeoutMs);
  return { interpreter, isNamed, answer };
}

/** The CUDA that the package of TensorRT was built for: `10.6.0.26-1+cuda12.6`. Debian's packages alone say it. */
export async function packageCuda(
  major: number,
  env: EnvironmentVariables,
  timeoutMs: number,
): Promise<number | null> {
  const args = ['--show', '--showformat=${Version}', `libnvinfer${major}`];
  const answer: ToolAnswer = await askProgram('dpkg-query', args, env, timeoutMs);
  const cuda = answer.kind === 'answered' ? /\+cuda(\d+)\./.exec(answer.text)?.[1] : undefined;
  return cuda === undefined ? null : Number(cuda);
}
