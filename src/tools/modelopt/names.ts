import * as z from 'zod';

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

const versionsSchema = z.object({
  python: z.string(),
  packages: z.record(z.string(), z.string().nullable().catch(null)),
});

/** What the Python program in `machine/machine-tools.ts` prints; null when it is something else. */
export function readPythonVersions(text: string) {
  try {
    const { python, packages } = versionsSchema.parse(JSON.parse(text));
    return { python, packages: Object.entries(packages) };
  } catch {
    return null;
  }
}
