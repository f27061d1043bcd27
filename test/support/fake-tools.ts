import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A folder for PATH with programs that are shell scripts of these lines. */
export function fakeTools(folder: string, scripts: Readonly<Record<string, string>>): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, script] of Object.entries(scripts)) {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
  }
  return folder;
}
