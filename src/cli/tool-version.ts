import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { isRecord } from '../text/unknown-values.ts';
import { packageFolder } from './store-location.ts';

/** The version in `package.json`, which is the only place that has it. */
export function toolVersion(): string {
  const parsed: unknown = JSON.parse(readFileSync(join(packageFolder(), 'package.json'), 'utf8'));
  const version = isRecord(parsed) ? parsed['version'] : null;
  return typeof version === 'string' ? version : 'unknown';
}
