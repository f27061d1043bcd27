import { ExportFormatError } from '../../errors.ts';

// oxlint-disable-next-line no-control-regex -- TensorRT joins names with U+001E and U+001F and does not escape them
const RAW_CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g;
/** `nan` and `inf` as C++ prints them, in the place of a value. */
const BARE_NUMBER = /(:\s*)-?(?:nan|inf)(?=\s*[,}\]])/gi;
/** The part of a line before its last string, with the opening quote. Only punctuation follows the closing quote. */
const BEFORE_STRING = /^(?:.*?"[^"]+"\s*:\s*"|[{\s,]*"(?:Layers|Bindings)"\s*:\s*\["|\s*,?\s*")/;
const AFTER_STRING = /^"[\s,}\]]*$/;

/** @throws ExportFormatError with the problem if the text is not JSON */
export function parseJson(text: string, problem = 'not JSON: is it cut off?'): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ExportFormatError(problem, { cause: error });
  }
}

/**
 * Parses JSON that TensorRT wrote without escaping its names. Tried in turn: unchanged; with control characters and
 * bare `nan` fixed; with quotes and backslashes inside each line's string escaped.
 * @throws ExportFormatError if all fail
 */
export function parseTensorrtJson(marked: string): unknown {
  // An editor on Windows may have added a byte order mark.
  const text = marked.replace(/^\uFEFF/, '');
  try {
    return JSON.parse(text);
  } catch {
    // The next attempt fixes it.
  }
  const mended = text
    .replace(RAW_CONTROL, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(BARE_NUMBER, '$1null');
  try {
    return JSON.parse(mended);
  } catch {
    // The last attempt fixes it.
  }
  return parseJson(mended.split('\n').map(escapeStringLine).join('\n'), 'not JSON, and not repairable');
}

function escapeStringLine(line: string): string {
  const head = BEFORE_STRING.exec(line)?.[0];
  const last = line.lastIndexOf('"');
  if (head === undefined || last < head.length || !AFTER_STRING.test(line.slice(last))) return line;
  return head + escapeName(line.slice(head.length, last)) + line.slice(last);
}

/** Escapes quotes and backslashes that are not escaped yet. */
export function escapeName(name: string): string {
  return name.replace(/\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})/g, '\\\\').replace(/(?<!\\)((?:\\\\)*)"/g, '$1\\"');
}
