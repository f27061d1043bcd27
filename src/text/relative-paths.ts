import { win32 } from 'node:path';

/** Matches an absolute path from the root, the home folder or a drive, but not within a word or a relative path. */
const PATH = /(?<![\w.\-~/\\])(?:~|[A-Za-z]:)?[\\/][^\s"'`<>|:;,=()[\]{}*?$&#]+/;
/** Matches a whole text, or the value of an option, which may contain spaces. */
const WHOLE = /^(?:-[\w-]+=)?((?:~|[A-Za-z]:)?[\\/].+)$/s;
const LIST = /[:;,](?=[~/\\])(?<!\b[A-Za-z]:)/;
/** Files whose names the command lines need. Other names may be folders. */
const FILE =
  /^(?:trtexec|[^\\/]*\.(?:bin|cache|csv|data|dll|engine|exe|json|log|np[yz]|onnx|plan|py|so|trt|weights|ya?ml)[\d.]*)$/i;

/** Replaces absolute paths by `folder-1/model.onnx`, with one number per folder. */
export class RelativePaths {
  readonly #folders = new Map<string, string>();
  readonly #pattern: RegExp;

  /** @param known values with paths that may contain spaces */
  constructor(known: unknown) {
    const parts = textsIn(known).flatMap((text) => text.split(LIST));
    const whole = parts.flatMap((part) => WHOLE.exec(part)?.[1] ?? []);
    const longest = [...new Set(whole)].toSorted((a, b) => b.length - a.length || (a < b ? -1 : 1));
    const literals = longest.map((path) => path.replace(/[$()*+./?[\\\]^{|}]/g, String.raw`\$&`));
    this.#pattern = new RegExp([...literals, PATH.source].join('|'), 'g');
  }

  get count(): number {
    return this.#folders.size;
  }

  text(text: string): string {
    return text.replace(this.#pattern, (path) => {
      const name = win32.basename(path);
      return FILE.test(name) ? `${this.#folder(win32.dirname(path))}/${name}` : this.#folder(path);
    });
  }

  /** A copy of a JSON value with paths replaced in its texts. */
  copy<Value>(value: Value): Value {
    return JSON.parse(JSON.stringify(value), (_, inner: unknown) =>
      typeof inner === 'string' ? this.text(inner) : inner,
    );
  }

  #folder(path: string): string {
    const known = this.#folders.get(path);
    if (known !== undefined) return known;
    const name = `folder-${this.#folders.size + 1}`;
    this.#folders.set(path, name);
    return name;
  }
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
