import * as z from 'zod';

import { ExportFormatError } from '../../errors.ts';
import type { EngineLayer, LayerInfo, LayerTensor } from '../../records/layer-info.ts';
import type { Shapes } from '../../records/cell.ts';
import { type UnknownRecord, isRecord } from '../../text/unknown-values.ts';
import { parseJson, parseTensorrtJson } from './json-repair.ts';

/**
 * Parses `--exportLayerInfo`: names only (strings) or detailed (objects), with tensors in either inspector schema:
 * `Format/Datatype` in one string, or `Datatype` and `Format` separately.
 * @throws ExportFormatError for any other file
 */
export function parseLayerInfo(text: string): LayerInfo {
  const parsed = parseTensorrtJson(text);
  const entries = layerEntries(parsed);
  if (entries === null) {
    throw new ExportFormatError('no "Layers" array: not a file of --exportLayerInfo');
  }
  return { detail: entries.some(isRecord) ? 'detailed' : 'names', layers: entries.map(engineLayer) };
}

/** Torch-TensorRT's `get_layer_info()` may be cut down to one layer, or to the bare list. */
function layerEntries(parsed: unknown): readonly unknown[] | null {
  if (Array.isArray(parsed)) return parsed.every((entry) => isLayer(entry)) ? parsed : null;
  if (!isRecord(parsed)) return null;
  const layers: unknown = parsed['Layers'];
  if (Array.isArray(layers)) return layers;
  return isLayer(parsed) ? [parsed] : null;
}

function isLayer(entry: unknown): boolean {
  return isRecord(entry) && typeof entry['Name'] === 'string' && 'LayerType' in entry;
}

function engineLayer(entry: unknown, index: number): EngineLayer {
  if (typeof entry === 'string') {
    return { index, name: entry, type: null, tactic: null, inputs: [], outputs: [], origins: [] };
  }
  if (!isRecord(entry)) throw new ExportFormatError(`layer ${index} is neither name nor object`);
  return {
    index,
    name: textOf(entry['Name']) ?? '',
    type: textOf(entry['LayerType']),
    tactic: textOf(entry['TacticName']) ?? textOf(entry['TacticValue']),
    inputs: tensors(entry['Inputs']),
    outputs: tensors(entry['Outputs']),
    origins: parseOrigins(textOf(entry['Metadata']) ?? ''),
  };
}

const ORIGIN = '[ONNX Layer: ';
// oxlint-disable-next-line no-control-regex -- the separators themselves
const ORIGIN_END = /\](?=[\u001e\u001f]|\[ONNX Layer: |$)/g;

/** The ONNX nodes in a layer's `Metadata`, which are joined by U+001E, U+001F or nothing. */
export function parseOrigins(metadata: string): string[] {
  // Behind the last end is nothing, or an entry that was cut.
  const entries = metadata.split(ORIGIN_END).slice(0, -1);
  return entries
    .filter((entry) => entry.includes(ORIGIN))
    .map((entry) => entry.slice(entry.indexOf(ORIGIN) + ORIGIN.length));
}

function tensors(value: unknown): LayerTensor[] {
  return Array.isArray(value) ? value.filter(isRecord).map(layerTensor) : [];
}

function layerTensor(entry: UnknownRecord): LayerTensor {
  const both = textOf(entry['Format/Datatype']);
  const dimensions: unknown = entry['Dimensions'];
  return {
    name: textOf(entry['Name']) ?? '',
    dimensions: Array.isArray(dimensions) ? dimensions.filter((dimension) => typeof dimension === 'number') : [],
    type: tensorType(textOf(entry['Datatype']) ?? both),
    format: textOf(entry['Format']) ?? (both?.includes(' ') === true ? both : null),
  };
}

/** Order matters: `FP16` also occurs in "Channel major FP16 format where channel % 8 == 0". */
const TYPE_WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bBF(?:loat)?16\b/i, 'bf16'],
  [/\bHalf\b|\bFP16\b/i, 'fp16'],
  [/\bFP8\b/i, 'fp8'],
  [/\bFP4\b/i, 'fp4'],
  [/\bFloat\b|\bFP32\b/i, 'fp32'],
  [/\bU?Int64\b/i, 'int64'],
  [/\bInt32\b/i, 'int32'],
  [/\bUInt8\b/i, 'uint8'],
  [/\bInt8\b/i, 'int8'],
  [/\bInt4\b/i, 'int4'],
  [/\bBool\b/i, 'bool'],
];

/** The type as `LayerTensor` spells it; unchanged if unknown. */
export function tensorType(text: string | null): string | null {
  if (text === null) return null;
  return TYPE_WORDS.find(([pattern]) => pattern.test(text))?.[1] ?? text;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/**
 * Collects the output of `--dumpLayerInfo`: one line per layer between `Layers:` and `Bindings:`, either `Name: …,
 * LayerType: …, Inputs: [ {…}], …` or, for an engine without details, the name alone.
 */
export class LayerTextReader {
  private readonly lines: string[] = [];
  private reading = false;

  /**
   * Takes one line without its prefix.
   * @returns true if it belongs to the list
   */
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

  stop(): void {
    this.reading = false;
  }

  finish(): LayerInfo | null {
    if (this.lines.length === 0) return null;
    return { detail: this.lines.some(isDetailed) ? 'detailed' : 'names', layers: this.lines.map(layerOfLine) };
  }
}

function isDetailed(line: string): boolean {
  return line.startsWith('Name: ') && line.includes(', LayerType: ');
}

/**
 * `Name: a, LayerType: gemm, Inputs: [ { Name: x, … }], …`: fields are found by their names, because values contain
 * commas.
 */
function layerOfLine(line: string, index: number): EngineLayer {
  if (!isDetailed(line)) return engineLayer(line, index);
  const typeAt = line.indexOf(', LayerType: ');
  // The first line of a dump repeats its key.
  const name = line.slice('Name: '.length, typeAt).replace(/^Name: /, '');
  const rest = line.slice(typeAt);
  const words = ['LayerType', 'TacticName', 'TacticValue'].map((key) => [key, wordAfter(rest, `, ${key}: `)]);
  const lists = ['Inputs', 'Outputs'].map((key) => [key, tensorsAfter(rest, `, ${key}: `)]);
  return engineLayer({ Name: name, ...Object.fromEntries([...words, ...lists]), Metadata: metadataOf(rest) }, index);
}

function wordAfter(text: string, key: string): string {
  const at = text.indexOf(key);
  return at === -1 ? '' : (/^[^,]*/.exec(text.slice(at + key.length))?.[0].trim() ?? '');
}

/** The metadata is the last field: its value extends to the end of the line. */
function metadataOf(text: string): string {
  const key = ', Metadata: ';
  const at = text.lastIndexOf(key);
  return at === -1 ? '' : text.slice(at + key.length).trim();
}

function tensorsAfter(text: string, key: string): UnknownRecord[] {
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
      return {
        Name: /Name: (.*?)(?=, (?:Location|Dimensions): )/.exec(entry)?.[1],
        Dimensions: dimensions === '' ? [] : dimensions.split(',').map(Number),
        'Format/Datatype': /Format\/Datatype: (.*?) ?$/.exec(entry)?.[1],
        Datatype: /(?<!\/)Datatype: ([^,}]*)/.exec(entry)?.[1]?.trim(),
        Format: /, Format: (.*?) ?$/.exec(entry)?.[1],
      };
    });
}

const metadataSchema = z.object({
  inference_options: z.record(z.string(), z.unknown()).default({}),
  device_information: z.record(z.string(), z.unknown()).default({}),
});

/** What trt-engine-explorer extracted from trtexec's log; null if not stated. */
export type ExplorerMetadata = ReturnType<typeof parseExplorerMetadata>;

export const NO_METADATA: ExplorerMetadata = {
  shapes: null,
  cudaGraph: null,
  dataTransfers: null,
  spinWait: null,
  streams: null,
  gpuName: null,
};

/**
 * Parses `*.profile.metadata.json` of trt-engine-explorer.
 * @throws ExportFormatError for any other file
 */
export function parseExplorerMetadata(text: string) {
  const { success, data } = metadataSchema.safeParse(parseJson(text));
  if (!success) throw new ExportFormatError('no "inference_options": not of trt-engine-explorer');
  const options = data.inference_options;
  const gpuName = data.device_information['Selected Device'];
  const streams = Number(options['Streams']);
  return {
    shapes: shapesOf(options['Input inference shape']),
    cudaGraph: switchOf(options['CUDA Graph']),
    dataTransfers: switchOf(options['Data transfers']),
    spinWait: switchOf(options['Spin-wait']),
    streams: Number.isInteger(streams) && streams > 0 ? streams : null,
    gpuName: typeof gpuName === 'string' ? gpuName : null,
  };
}

function switchOf(value: unknown): boolean | null {
  return value === 'Enabled' ? true : value === 'Disabled' ? false : null;
}

function shapesOf(value: unknown): Shapes | null {
  const [, input = '', dims] = /^(.+)=(\d+(?:x\d+)*)$/.exec(String(value)) ?? [];
  return dims === undefined ? null : { [input]: dims.split('x').map(Number) };
}
