import { isRecord } from './unknown-values.ts';

/** Why one in a matrix is refused, and what to do. */
export const SECRETS_ARE_INHERITED =
  'this looks like a secret, and values in a matrix are stored: set it in the environment that bench is started in';

/** Words that make a secret of a variable wherever they stand between its underscores. */
const SECRET_WORDS = /^(?:auth|authorization|bearer|cookie|creds|dsn|jwt|pass|pat|private|tokens|webhooks)$/;
/** The same without underscores: GITHUBTOKEN, DBPASSWORD. */
const SECRET_PARTS =
  /(?:token|apikey|accesskey|privatekey|secretkey|sshkey|webhook)$|secret|passw|passphrase|credential/;
/** What an address of a server with data is called: such addresses mostly hold a password. */
const SERVERS =
  /^(?:amqp|broker|celery|clickhouse|couchdb|database|db|elasticsearch|mongo|mongodb|mssql|mysql|pg|postgres|postgresql|rabbitmq|redis|sentry|sql|sqlalchemy)$/;
const ADDRESSES = new Set(['url', 'uri', 'connection', 'conn']);
/** Amounts of tokens, as of language models, and not tokens that open doors. */
const AMOUNTS = new Set(['batched', 'input', 'max', 'min', 'new', 'num', 'output', 'total']);
/** `https://user:password@host`. */
const ADDRESS_WITH_PASSWORD = /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:([^/\s@]+)@/i;

/** True for what a variable is called when it holds something that must not be stored. */
export function isSecretName(variable: string): boolean {
  const words = variable
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
  if (words.some((word) => AMOUNTS.has(word)) && words.includes('tokens')) return false;
  // A key is one at the end, alone in the name it may be of anything.
  const named = words.filter((word) => word !== 'id' && !/^\d+$/.test(word));
  if (named.length > 1 && /^(?:key|pwd)\d*$/.test(named.at(-1) ?? '')) return true;
  if (ADDRESSES.has(words.at(-1) ?? '') && words.some((word) => SERVERS.test(word))) return true;
  return words.some((word) => SECRET_WORDS.test(word) || SECRET_PARTS.test(word));
}

/** Whether a variable may be stored with its value: neither its name nor an address in it gives a secret away. */
export function isSecret(variable: string, value: string): boolean {
  return isSecretName(variable) || ADDRESS_WITH_PASSWORD.test(value);
}

/** The texts that must not be seen of a variable; none of one that may be. */
export function secretsIn(variable: string, value: string): string[] {
  const password = ADDRESS_WITH_PASSWORD.exec(value)?.[1];
  return [...(isSecretName(variable) ? [value] : []), ...(password === undefined ? [] : [password])];
}

export function withoutSecretEnv(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecretEnv);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === 'env' && isRecord(inner) ? withoutSecrets(inner) : withoutSecretEnv(inner),
    ]),
  );
}

export function withoutSecrets<Value>(variables: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(variables).filter(([name, value]) => value === null || !isSecret(name, String(value))),
  );
}
