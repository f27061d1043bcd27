import { printable } from './printable.ts';
import { isRecord } from './unknown-values.ts';

/** Names to hide. Serial numbers and IDs of GPUs are recognized by their form. */
export interface PrivateNames {
  readonly hosts: readonly string[];
  readonly users: readonly string[];
  readonly home: string | null;
}

/** Not within a longer word: `node-1` is not in `node-12`. Underscores, dots and dashes separate words. */
const BEFORE = '(?<![\\p{L}\\p{N}])';
const AFTER = '(?![\\p{L}\\p{N}])';

const GPU_ID = '(?:MIG-)?(?:GPU|MIG)-[0-9a-f](?:[0-9a-f-]{6,}|[0-9a-f-]*…)';
const SERIAL = '(?<=serial(?:[ _]?(?:number|no\\.?))?"?\\s*[:=]?\\s*"?)[\\p{L}\\p{N}]*\\p{N}[\\p{L}\\p{N}]{5,}';
/** `/home/NAME`, `/Users/NAME`, `C:\Users\NAME`, also of other machines. */
const HOME = /(?:[/\\](?:home|Users)[/\\])([^/\\\s"'`,;:)\]]+)/gu;

/** The user that exists on every machine. */
const NOBODY = 'root';

/** Fields with words of a closed list, which are not changed even if a user is called `build`. */
const OWN_WORDS =
  /^(?:betterIs|boundBy|by|effect|enqueueClass|kind|metric|precision|precisionVia|provenances?|role|source|state|stream|transferBound|unit|verdict)$/;

/**
 * Replaces private names in the output of a command, each always by the same name within one output. A short name is
 * masked wherever it is a whole word, even if that garbles the output.
 */
export class Redaction {
  private readonly pattern: RegExp;
  private readonly home: string | null;
  /**
   * The kind of each name and the whole name that it abbreviates. Keys are in lower case, because the case of hosts
   * does not matter.
   */
  private readonly known = new Map<string, { kind: 'host' | 'user'; whole: string }>();
  private readonly pseudonyms = new Map<string, string>();

  /** @param output everything that will be printed; its home folders reveal further users */
  constructor({ hosts, users, home }: PrivateNames, output: string) {
    this.home = home !== null && home.length > 1 ? home : null;
    const homes = [...output.matchAll(HOME)].flatMap(([, name]) => name ?? []);
    for (const name of [...users, ...homes]) this.know(name, 'user');
    // Whole names first. The first part of a name also identifies it, except in an address.
    for (const name of hosts.toSorted((a, b) => b.length - a.length)) {
      this.know(name, 'host');
      const [label = ''] = name.split('.');
      if (!/^\d*$/.test(label)) this.know(label, 'host', name);
    }
    const names = [...(this.home === null ? [] : [this.home]), ...this.known.keys()];
    const words = names
      .toSorted((a, b) => b.length - a.length)
      .map((name) => `${BEFORE}(?:${escaped(name)}${AFTER}|${cutShort(name)})`);
    this.pattern = new RegExp([...words, `${BEFORE}${GPU_ID}${AFTER}`, SERIAL].join('|'), 'giu');
  }

  text(text: string): string {
    return text.replace(this.pattern, (found) => this.replacement(found));
  }

  /** Redacts values but not names of fields. */
  json(value: unknown, field = ''): unknown {
    if (typeof value === 'string') {
      if (OWN_WORDS.test(field)) return value;
      return /serial/i.test(field) ? this.pseudonym(value, 'serial') : this.text(value);
    }
    if (Array.isArray(value)) return value.map((entry: unknown) => this.json(entry, field));
    if (!isRecord(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, this.json(entry, name)]));
  }

  private know(name: string, kind: 'host' | 'user', whole = name): void {
    if (kind === 'user' && name === NOBODY) return;
    for (const form of [name, printable(name)].map((text) => text.toLowerCase())) {
      if (form.trim() !== '' && !this.known.has(form)) this.known.set(form, { kind, whole });
    }
  }

  private replacement(found: string): string {
    const name = found.toLowerCase();
    if (name === this.home?.toLowerCase()) return '~';
    const known = this.known.get(name);
    if (known !== undefined) return this.pseudonym(known.whole.toLowerCase(), known.kind);
    if (name.endsWith('…')) return 'redacted…';
    return this.pseudonym(name, /^(?:gpu|mig)-/.test(name) ? 'GPU-redacted' : 'serial');
  }

  private pseudonym(name: string, kind: string): string {
    const key = `${kind} ${name}`;
    const known = this.pseudonyms.get(key);
    if (known !== undefined) return known;
    const others = [...this.pseudonyms.keys()].filter((other) => other.startsWith(`${kind} `));
    const pseudonym = `${kind}-${others.length + 1}`;
    this.pseudonyms.set(key, pseudonym);
    return pseudonym;
  }
}

function escaped(name: string): string {
  return name.replace(/[$()*+./?[\\\]^{|}]/g, '\\$&');
}

const TELLING_LETTERS = 3;

/** A narrow terminal truncates names: `gpu-node-0…`. */
function cutShort(name: string): string {
  const letters = [...name];
  const prefixes = letters
    .map((_, count) => letters.slice(0, count).join(''))
    .filter((prefix) => prefix.length >= TELLING_LETTERS);
  return prefixes.length === 0 ? '(?!)' : `(?:${prefixes.toReversed().map(escaped).join('|')})…`;
}

export const SECRETS_ARE_INHERITED =
  'this looks like a secret, and values in a matrix are stored: set it in the environment that bench is started in';

/** Words between underscores that mark a variable as secret. */
const SECRET_WORDS = /^(?:auth|authorization|bearer|cookie|creds|dsn|jwt|pass|pat|private|tokens|webhooks)$/;
/** Parts of names without underscores, such as GITHUBTOKEN or DBPASSWORD. */
const SECRET_PARTS =
  /(?:token|apikey|accesskey|privatekey|secretkey|sshkey|webhook)$|secret|passw|passphrase|credential/;
/** Servers whose addresses mostly contain a password. */
const SERVERS =
  /^(?:amqp|broker|celery|clickhouse|couchdb|database|db|elasticsearch|mongo|mongodb|mssql|mysql|pg|postgres|postgresql|rabbitmq|redis|sentry|sql|sqlalchemy)$/;
const ADDRESSES = new Set(['url', 'uri', 'connection', 'conn']);
/** Counts of tokens, such as those of language models, are not secrets. */
const AMOUNTS = new Set(['batched', 'input', 'max', 'min', 'new', 'num', 'output', 'total']);
/** Matches `https://user:password@host`. */
const ADDRESS_WITH_PASSWORD = /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:([^/\s@]+)@/i;

export function isSecretName(variable: string): boolean {
  const words = variable
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
  if (words.some((word) => AMOUNTS.has(word)) && words.includes('tokens')) return false;
  // `key` marks a secret only at the end of a name.
  const named = words.filter((word) => word !== 'id' && !/^\d+$/.test(word));
  if (named.length > 1 && /^(?:key|pwd)\d*$/.test(named.at(-1) ?? '')) return true;
  if (ADDRESSES.has(words.at(-1) ?? '') && words.some((word) => SERVERS.test(word))) return true;
  return words.some((word) => SECRET_WORDS.test(word) || SECRET_PARTS.test(word));
}

/** Whether a variable must not be stored with its value, because its name or value reveals a secret. */
export function isSecret(variable: string, value: string): boolean {
  return isSecretName(variable) || ADDRESS_WITH_PASSWORD.test(value);
}

/** The parts of a variable's value that must not be shown. */
export function secretsIn(variable: string, value: string): string[] {
  const password = ADDRESS_WITH_PASSWORD.exec(value)?.[1];
  return [...(isSecretName(variable) ? [value] : []), ...(password === undefined ? [] : [password])];
}

/** A copy of a JSON value, in which no `env` has secrets. */
export function withoutSecretEnv(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null), (key, inner: unknown) =>
    key === 'env' && isRecord(inner) ? withoutSecrets(inner) : inner,
  );
}

export function withoutSecrets<Value>(variables: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(variables).filter(([name, value]) => value === null || !isSecret(name, String(value))),
  );
}
