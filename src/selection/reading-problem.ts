import { errorCode } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { OnnxFormatError } from '../tools/onnx/wire-reader.ts';

export function readingProblem(error: unknown): string {
  switch (errorCode(error)) {
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

export function onnxProblem(error: unknown): string {
  return error instanceof OnnxFormatError ? `not readable as ONNX: ${error.message}` : readingProblem(error);
}
