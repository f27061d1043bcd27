import type { EngineLayer, LayerInfo, LayerTensor } from '../../layers/layer-info.ts';
import { layerTensor, parseOrigins } from './layer-info.ts';

/**
 * Collects what `--dumpLayerInfo` prints: a line for each layer between `Layers:` and `Bindings:`, either
 * `Name: …, LayerType: …, Inputs: [ {…}], …` or, from an engine without details, the name alone.
 */
export class LayerTextReader {
  private readonly lines: string[] = [];
  private reading = false;

  /** Takes one line without its prefix. @returns true when it belongs to the list */
  push(text: string): boolean {
    const line = text.trim();
    if (line === 'Layers:') {
      this.reading = true;
      return true;
    }
    if (line === 'Bindings:') this.reading = false;
    if (!this.reading && !isDetailed(line)) return false;
    if (line !== '') this.lines.push(line);
    return true;
  }

  /** Ends the list, as any line with a prefix does. */
  stop(): void {
    this.reading = false;
  }

  finish(): LayerInfo | null {
    if (this.lines.length === 0) return null;
    return {
      detail: this.lines.some(isDetailed) ? 'detailed' : 'names',
      layers: this.lines.map(layerOfLine),
      bindings: [],
    };
  }
}

function isDetailed(line: string): boolean {
  return line.startsWith('Name: ') && line.includes(', LayerType: ');
}

/** `Name: a, LayerType: gemm, Inputs: [ { Name: x, … }], …`: the fields are told by their names, as values hold commas. */
function layerOfLine(line: string, index: number): EngineLayer {
  if (!isDetailed(line)) {
    return { index, name: line, type: null, tactic: null, inputs: [], outputs: [], origins: [] };
  }
  const typeAt = line.indexOf(', LayerType: ');
  // The first line of a dump repeats its key.
  const name = line.slice('Name: '.length, typeAt).replace(/^Name: /, '');
  const rest = line.slice(typeAt);
  return {
    index,
    name,
    type: wordAfter(rest, ', LayerType: '),
    tactic: wordAfter(rest, ', TacticName: ') ?? wordAfter(rest, ', TacticValue: '),
    inputs: tensorsAfter(rest, ', Inputs: '),
    outputs: tensorsAfter(rest, ', Outputs: '),
    origins: parseOrigins(metadataOf(rest)),
  };
}

function wordAfter(text: string, key: string): string | null {
  const at = text.indexOf(key);
  if (at === -1) return null;
  const word = /^[^,]*/.exec(text.slice(at + key.length))?.[0].trim() ?? '';
  return word === '' ? null : word;
}

/** The last field: its value goes to the end of the line. */
function metadataOf(text: string): string {
  const key = ', Metadata: ';
  const at = text.lastIndexOf(key);
  return at === -1 ? '' : text.slice(at + key.length).trim();
}

function tensorsAfter(text: string, key: string): LayerTensor[] {
  const at = text.indexOf(key);
  if (at === -1) return [];
  const list = text.slice(at + key.length);
  const end = list.startsWith('[]') ? 0 : list.indexOf('}]');
  if (end <= 0) return [];
  return list
    .slice(0, end)
    .split(/\}, ?(?=\{)/)
    .map((entry) => {
      const dimensions = /Dimensions: \[([-\d,\s]*)\]/.exec(entry)?.[1] ?? '';
      return layerTensor({
        Name: /Name: (.*?)(?=, (?:Location|Dimensions): )/.exec(entry)?.[1],
        Dimensions: dimensions === '' ? [] : dimensions.split(',').map(Number),
        'Format/Datatype': /Format\/Datatype: (.*?) ?$/.exec(entry)?.[1],
        Datatype: /(?<!\/)Datatype: ([^,}]*)/.exec(entry)?.[1]?.trim(),
        Format: /, Format: (.*?) ?$/.exec(entry)?.[1],
      });
    });
}
