import { isRecord } from './unknown-values.ts';

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
