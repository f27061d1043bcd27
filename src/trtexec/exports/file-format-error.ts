/** A file that trtexec exported is not in a format that is known. The caller names the file. */
export class ExportFormatError extends Error {
  override readonly name = 'ExportFormatError';
}
