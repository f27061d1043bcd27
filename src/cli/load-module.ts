import { createRequire } from 'node:module';

import { errorCode } from '../errors.ts';
import { isRecord } from '../text/unknown-values.ts';

/**
 * The default export of a JavaScript file (`./name.js`), or of an npm package that is installed for `from`.
 * @param from absolute path of the file that names the module
 * @throws Error if it cannot be loaded, or whatever its code throws
 */
export function loadModule(stated: string, from: string): unknown {
  const requireFrom = createRequire(from);
  const loaded: unknown = requireFrom(resolved(stated, requireFrom));
  return isRecord(loaded) && 'default' in loaded ? loaded['default'] : loaded;
}

function resolved(stated: string, requireFrom: NodeJS.Require): string {
  try {
    return requireFrom.resolve(stated);
  } catch (error) {
    if (errorCode(error) !== 'MODULE_NOT_FOUND') throw error;
    throw new Error('not found: a file is named ./FILE.js, and a package must be installed there', { cause: error });
  }
}
