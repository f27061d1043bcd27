import { ExportFormatError } from '../../errors.ts';

// oxlint-disable-next-line no-control-regex -- TensorRT joins names with U+001E and U+001F and does not escape them
const RAW_CONTROL = /^([ \t]+)|[\0-\t\v\f\x0e-\x1f]|\r(?!\n)|(?<="name" : "[^\n]*)\r?\n(?! *[,\]])/gm;
/** `nan` and `inf` as C++ prints them, in the place of a value. */
const BARE_NUMBER = /(:\s*)-?(?:nan|inf)(?:\(\w*\))?(?=\s*[,}\]])/gi;
/** The part of a line before its last string, with the opening quote. Only punctuation follows the closing quote. */
const BEFORE_STRING = /^(?:.*?"[^"]+"\s*:\s*"|[{\s,]*"(?:Layers|Bindings)"\s*:\s*\["|\s*,?\s*")/;
const AFTER_STRING = /^"[\s,}\]]*$/;
/** A profile has one layer per line: its name ends at the line's last `", "timeMs" : `. */
const BEFORE_NAME = '"name" : "';
const AFTER_NAME = '", "timeMs" : ';

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
  let text = marked.replace(/^\uFEFF/, '');
  for (const repair of [mendValues, escapeStrings]) {
    try {
      return JSON.parse(text);
    } catch {
      text = repair(text);
    }
  }
  return parseJson(text, 'not JSON, and not repairable');
}

function mendValues(text: string): string {
  return text
    .replace(RAW_CONTROL, (raw, indent?: string) => indent ?? JSON.stringify(raw).slice(1, -1))
    .replace(BARE_NUMBER, '$1null');
}

function escapeStrings(text: string): string {
  return text
    .split('\n')
    .map((line) => {
      const name = line.indexOf(BEFORE_NAME) + BEFORE_NAME.length;
      const isLayer = name >= BEFORE_NAME.length && line.lastIndexOf(AFTER_NAME) >= name;
      const open = isLayer ? name : (BEFORE_STRING.exec(line)?.[0].length ?? line.length);
      const close = line.lastIndexOf(isLayer ? AFTER_NAME : '"');
      if (close < open || (!isLayer && !AFTER_STRING.test(line.slice(close)))) return line;
      return line.slice(0, open) + escapeName(line.slice(open, close)) + line.slice(close);
    })
    .join('\n');
}

/** Escapes quotes and backslashes that are not escaped yet. */
function escapeName(name: string): string {
  return name.replace(/\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})/g, '\\\\').replace(/(?<!\\)((?:\\\\)*)"/g, '$1\\"');
}
