import type { LayerProfile, LayerTime } from '../log/parsed-log.ts';

const NAME = '{ "name" : "';
const TIMES = '", "timeMs" : ';
const VALUES = /^([^,]+), "averageMs" : ([^,]+),(?: "medianMs" : ([^,]+),)? "percentage" : ([^ ]+) \},?$/;
const COUNT = /^\[?[\s,]*\{ "count" : (\d+) \},?$/;
const BRACKET = /^\s*[[\]]?\s*$/;
const NEWLINE = 0x0a;
const NOTHING = Buffer.alloc(0);
/** A line is one layer. */
const MAX_LINE_BYTES = 4 << 20;

/**
 * Reads `--exportProfile` as trtexec writes it, one layer a line, while the file comes in: its objects as a whole
 * would take several times the memory. A file that looks in any way different is left to `parseProfile`.
 */
export class ProfileReader {
  /** What came of a line that is not whole yet. */
  private carry: Buffer[] = [];
  private readonly layers: LayerTime[] = [];
  /** Networks repeat their blocks, exports their names: each is kept once. */
  private readonly names = new Map<string, string>();
  private iterations = 0;
  private carried = 0;
  private regular = true;

  /** False once some line was not as trtexec writes it: nothing more needs to be pushed. */
  get isRegular(): boolean {
    return this.regular;
  }

  push(chunk: Buffer): void {
    if (!this.regular) return;
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (end > 0) this.readLines(this.takeCarry(chunk.subarray(0, end - 1)));
    if (end === chunk.length) return;
    this.carry.push(Buffer.from(chunk.subarray(end)));
    this.carried += chunk.length - end;
    if (this.carried > MAX_LINE_BYTES) this.regular = false;
  }

  private takeCarry(rest: Buffer): string {
    const bytes = this.carried === 0 ? rest : Buffer.concat([...this.carry, rest]);
    this.carry = [];
    this.carried = 0;
    return bytes.toString('utf8');
  }

  /** Null when some line was not as trtexec writes it. */
  end(): LayerProfile | null {
    if (this.regular && this.carried > 0) this.readLines(this.takeCarry(NOTHING));
    return this.regular && this.layers.length > 0 ? { iterations: this.iterations, layers: this.layers } : null;
  }

  private readLines(text: string): void {
    for (const line of text.split('\n')) {
      if (!this.readLine(line)) {
        this.regular = false;
        return;
      }
    }
  }

  private readLine(line: string): boolean {
    const open = line.indexOf(NAME);
    if (open === -1) {
      const counted = COUNT.exec(line);
      if (counted !== null) this.iterations = Number(counted[1]);
      return counted !== null || BRACKET.test(line);
    }
    // The name ends at the last mark of the times: names are not escaped.
    const close = line.lastIndexOf(TIMES);
    const values = close < open ? null : VALUES.exec(line.slice(close + TIMES.length));
    if (values === null) return false;
    const name = line.slice(open + NAME.length, close);
    // Somebody did escape it.
    if (name.includes('\\')) return false;
    this.layers.push({
      index: this.layers.length,
      name: this.sharedName(name),
      timeMs: numberOf(values[1]) ?? 0,
      averageMs: numberOf(values[2]) ?? 0,
      medianMs: numberOf(values[3]),
      percentage: numberOf(values[4]) ?? 0,
    });
    return true;
  }

  private sharedName(name: string): string {
    const known = this.names.get(name);
    if (known !== undefined) return known;
    // A slice would keep its whole chunk alive.
    const own = Buffer.from(name).toString('utf8');
    this.names.set(own, own);
    return own;
  }
}

function numberOf(text: string | undefined): number | null {
  const value = text === undefined ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}
