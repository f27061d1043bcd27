import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Makes the folder of artefacts if it is not there; git is told to leave it alone. */
export async function makeArtefactsFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const ignore = join(folder, '.gitignore');
  if (!existsSync(ignore)) await writeFile(ignore, '*\n');
}
