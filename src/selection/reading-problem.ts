import { printable } from '../text/printable.ts';
import { OnnxFormatError } from '../tools/onnx/wire-reader.ts';

/** What keeps a file or folder from being read, in words. */
export function readingProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  switch (code) {
    case 'ENOENT':
      return 'no such file or folder';
    case 'EACCES':
      return 'may not be read';
    case 'ENOTDIR':
      return 'is not a folder';
    default:
      return error instanceof Error ? printable(error.message) : 'cannot be read';
  }
}

/** The same of an ONNX file. */
export function onnxProblem(error: unknown): string {
  return error instanceof OnnxFormatError ? `not readable as ONNX: ${error.message}` : readingProblem(error);
}
