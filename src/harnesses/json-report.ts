import * as z from 'zod';
import { isRecord } from '../text/unknown-values.ts';
import type { HarnessFiles } from './driver.ts';

type Checked<Data> =
  | { readonly kind: 'read'; readonly data: Data }
  | { readonly kind: 'faulty'; readonly problem: string };

/**
 * A JSON report that a harness wrote into the folder of its run.
 * @param doubt what to ask when it has not the form of one: `is it a report of …?`
 */
export function readReport<Schema extends z.ZodType>(
  schema: Schema,
  files: HarnessFiles,
  name: string,
  doubt: string,
): Checked<z.infer<Schema>> {
  const text = files.text(name);
  if (text === null) return { kind: 'faulty', problem: `${name}: the process wrote none` };
  const value = parsedJson(text);
  if (value === undefined) {
    return { kind: 'faulty', problem: `${name}: no JSON, or not all of it: ${doubt}` };
  }
  return checkReport(schema, value, name, doubt);
}

/** One line on the first thing that is missing or wrong. */
export function checkReport<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  name: string,
  doubt: string,
): Checked<z.infer<Schema>> {
  const checked = schema.safeParse(value);
  if (checked.success) return { kind: 'read', data: checked.data };
  const [issue] = checked.error.issues;
  const path = issue?.path ?? [];
  const isMissing = valueAt(value, path) === undefined;
  const what = isMissing ? `no field ${z.core.toDotPath(path)}` : `${z.core.toDotPath(path)}: ${issue?.message}`;
  return { kind: 'faulty', problem: `${name}: ${what}: ${doubt}` };
}

/** Undefined for what is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let inner = value;
  for (const step of path) {
    if (Array.isArray(inner) && typeof step === 'number') inner = inner[step];
    else inner = isRecord(inner) ? inner[String(step)] : undefined;
  }
  return inner;
}
