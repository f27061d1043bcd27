import type { Evidence } from '../records/outcome.ts';

const NAMES = [
  /error while loading shared libraries: ([^\s:]+)/,
  /(?:Could not load library|Unable to (?:open|load) library):? ([^\s:]+)/,
  /([\w.+-]+\.so[\w.]*): cannot open shared object file/,
];

/** The library without which a program did not start, by the words of its loader; null where they name none. */
export function missingLibrary(evidence: readonly Evidence[]): string | null {
  for (const { text } of evidence) {
    // A plugin library is one that the matrix names: nothing of the installation.
    if (text.includes('IPluginRegistry::loadLibrary')) continue;
    for (const pattern of NAMES) {
      const name = pattern.exec(text)?.[1];
      if (name !== undefined) return name;
    }
  }
  return null;
}

/** Which one, and what to do. */
export function missingLibraryText(name: string): string {
  return `${name} could not be loaded: put its folder on LD_LIBRARY_PATH; \`bench doctor\` looks for it and prints the line`;
}
