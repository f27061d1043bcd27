import type { Mistake, SourcePosition } from '../../errors.ts';
import { keyPositionAt, positionAt, type SourceNode, type SourcePath } from './source-node.ts';

/** Gathers mistakes of one matrix by the path of what is wrong. */
export class MistakeList {
  private readonly found: { readonly path: SourcePath | null; readonly mistake: Mistake }[] = [];
  private readonly source: SourceNode;

  constructor(source: SourceNode) {
    this.source = source;
  }

  at(path: SourcePath): SourcePosition {
    return positionAt(this.source, path);
  }

  keyAt(path: SourcePath): SourcePosition {
    return keyPositionAt(this.source, path);
  }

  add(path: SourcePath, problem: string): void {
    this.found.push({ path, mistake: { at: this.at(path), problem } });
  }

  addAtKey(path: SourcePath, problem: string): void {
    this.found.push({ path, mistake: { at: this.keyAt(path), problem } });
  }

  addAt(at: SourcePosition, problem: string): void {
    this.found.push({ path: null, mistake: { at, problem } });
  }

  /** When the key itself is wrong, what was wrong with its values is beside the point. */
  addInstead(path: SourcePath, problem: string): void {
    const under = this.found.filter((entry) => !isUnder(entry.path, path));
    this.found.splice(0, this.found.length, ...under);
    this.addAtKey(path, problem);
  }

  get mistakes(): readonly Mistake[] {
    return this.found.map(({ mistake }) => mistake);
  }
}

function isUnder(path: SourcePath | null, above: SourcePath): boolean {
  return path !== null && above.every((step, index) => path[index] === step);
}

/** In the order of files and lines, each once. */
export function sortMistakes(mistakes: readonly Mistake[]): Mistake[] {
  const seen = new Set<string>();
  return mistakes
    .toSorted((a, b) => a.at.file.localeCompare(b.at.file) || a.at.line - b.at.line || a.at.column - b.at.column)
    .filter(({ at, problem }) => {
      const key = `${at.file}:${at.line}:${at.column}:${problem}`;
      return seen.has(key) ? false : seen.add(key);
    });
}
