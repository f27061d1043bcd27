import { isRecord } from '../../text/unknown-values.ts';

/** What is to be installed so that variants can be made, behind the interpreter's name. */
export const MODELOPT_INSTALL = '-m pip install "nvidia-modelopt[onnx]==0.47.0"';

/**
 * The packages that decide the bytes of a variant, each by the names under which it may be installed. Their versions
 * are part of a variant's identity.
 */
export const MODELOPT_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'nvidia-modelopt': ['nvidia-modelopt'],
  onnx: ['onnx'],
  onnxruntime: ['onnxruntime', 'onnxruntime-gpu'],
  'onnx-graphsurgeon': ['onnx-graphsurgeon'],
  onnxslim: ['onnxslim'],
  numpy: ['numpy'],
};

export interface PythonVersions {
  readonly python: string;
  /** By package; null for one that is not installed. */
  readonly packages: readonly (readonly [string, string | null])[];
}

/** What the Python program in `run/machine-tools.ts` prints; null when it is something else. */
export function readPythonVersions(text: string): PythonVersions | null {
  try {
    const parsed: unknown = JSON.parse(text);
    if (!isRecord(parsed) || typeof parsed['python'] !== 'string') return null;
    const { packages, python } = parsed;
    if (!isRecord(packages)) return null;
    const list = Object.entries(packages).map(([name, version]): [string, string | null] => [
      name,
      typeof version === 'string' ? version : null,
    ]);
    return { python, packages: list };
  } catch {
    return null;
  }
}
