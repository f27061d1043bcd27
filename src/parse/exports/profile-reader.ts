import type { LayerProfile, LayerTime } from '../../domain/trtexec-log.ts';

const NAME = '{ "name" : "';
const TIMES = '", "timeMs" : ';
const VALUES =
  /^([^,]+), "averageMs" : ([^,]+),(?: "medianMs" : ([^,]+),)? "percentage" : ([^ ]+) \},?$/;
const COUNT = /^\[?[\s,]*\{ "count" : (\d+) \},?$/;
const BRACKET = /^\s*[[\]]?\s*$/;
const NEWLINE = 0x0a;

/**
 * Reads `--exportProfile` as trtexec writes it, one layer a line, while the file comes in: its objects as a whole
 * would take several times the memory. A file that looks in any way different is left to `parseProfile`.
 */
export class ProfileReader {
  private carry: Buffer | null = null;
  private readonly layers: LayerTime[] = [];
  /** Networks repeat their blocks, exports their names: each is kept once. */
  private readonly names = new Map<string, string>();
  private iterations = 0;
  private isRegular = true;

  push(chunk: Buffer): void {
    if (!this.isRegular) return;
    const bytes = this.carry === null ? chunk : Buffer.concat([this.carry, chunk]);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    this.carry = end === bytes.length ? null : Buffer.from(bytes.subarray(end));
    if (end > 0) this.readLines(bytes.toString('utf8', 0, end - 1));
  }

  /** Null when some line was not as trtexec writes it. */
  end(): LayerProfile | null {
    if (this.carry !== null) this.readLines(this.carry.toString('utf8'));
    this.carry = null;
    return this.isRegular && this.layers.length > 0
      ? { iterations: this.iterations, layers: this.layers }
      : null;
  }

  private readLines(text: string): void {
    for (const line of text.split('\n')) {
      if (!this.readLine(line)) {
        this.isRegular = false;
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
