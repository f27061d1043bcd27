import * as z from 'zod';

import { orNull } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import { shellQuote } from '../../text/shell-quote.ts';

/** The command that installs the requirements of variants. */
export function modeloptInstall(interpreter: string): string {
  return printable(`${shellQuote(interpreter)} -m pip install "nvidia-modelopt[onnx]==0.47.0"`);
}

/** Packages that affect the bytes of a variant, and so its identity, each with its possible package names. */
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

/** Reads the output of the Python program in `tools/python/helper.ts`; null for other output. */
export function readPythonVersions(text: string) {
  return orNull(() => {
    const { python, packages } = versionsSchema.parse(JSON.parse(text));
    return { python, packages: Object.entries(packages) };
  });
}
