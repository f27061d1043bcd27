import type * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import { faulty, type HarnessFiles } from './driver.ts';

type Checked<Data> = { readonly kind: 'read'; readonly data: Data } | ReturnType<typeof faulty>;

/**
 * Reads the JSON report in a run folder.
 * @param doubt question for a wrong form: `is it a report of …?`
 */
export function readReport<Data>(
  schema: z.ZodType<Data>,
  files: HarnessFiles,
  name: string,
  hint: string,
): Checked<Data> {
  const text = files.text(name);
  if (text === null) return faulty(`${name}: the process wrote none`);
  const value = parsedJson(text);
  return value === undefined
    ? faulty(`${name}: no JSON, or not all of it: ${hint}`)
    : checkReport(schema, value, name, hint);
}

export function checkReport<Data>(schema: z.ZodType<Data>, value: unknown, name: string, hint: string): Checked<Data> {
  const checked = schema.safeParse(value, { reportInput: true });
  if (checked.success) return { kind: 'read', data: checked.data };
  const [issue] = checked.error.issues;
  const field = toDotPath(issue?.path ?? []);
  const what = issue?.input === undefined ? `no field ${field}` : `${field}: ${issue.message}`;
  return faulty(`${name}: ${what}: ${hint}`);
}

/** Undefined if it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
