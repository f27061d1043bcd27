import * as z from 'zod';

import { ExportFormatError } from '../../errors.ts';
import type { EngineLayer, LayerTensor } from '../../records/layer-info.ts';
import { type UnknownRecord, isRecord, stringOrNull } from '../../text/unknown-values.ts';
import { effectiveOptions } from '../log/printed-facts.ts';
import { parseJson, parseTensorrtJson } from './json-repair.ts';

/**
 * Parses `--exportLayerInfo`: names only (strings) or detailed (objects), with tensors in either inspector schema:
 * `Format/Datatype` in one string, or `Datatype` and `Format` separately.
 * @throws ExportFormatError for any other file
 */
export function parseLayerInfo(text: string): EngineLayer[] {
  const entries = layerEntries(parseTensorrtJson(text));
  if (entries === null) {
    throw new ExportFormatError('no "Layers" array: not a file of --exportLayerInfo');
  }
  return entries.map(engineLayer);
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
  if (typeof entry === 'string') return engineLayer({ Name: entry }, index);
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
    format: (textOf(entry['Format']) ?? (both?.includes(' ') === true ? both : null))?.replace(NOT_LAYOUT, '') ?? null,
  };
}

/** Order matters: `FP16` also occurs in "Channel major FP16 format where channel % 8 == 0". */
const TYPE_WORDS = 'bf16|bfloat16 fp16|half fp8 fp4 fp32|float int64|uint64 int32 uint8 int8 int4 bool'.split(' ');
const TYPES = TYPE_WORDS.map(
  (words) => [words.split('|', 1)[0], new RegExp(String.raw`\b(?:${words})\b`, 'i')] as const,
);
/** In `(Linear) Row major linear FP16 format`, what other schemas leave out. */
const NOT_LAYOUT = new RegExp(String.raw`^\(Linear\) | (?:${TYPE_WORDS.join('|')})\b`, 'gi');

/** The type as `LayerTensor` spells it; unchanged if unknown. */
export function tensorType(text: string | null): string | null {
  return text === null ? null : (TYPES.find(([, pattern]) => pattern.test(text))?.[0] ?? text);
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

  finish(): EngineLayer[] | null {
    return this.lines.length === 0 ? null : this.lines.map(layerOfLine);
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
  // Ends at the next comma; the metadata is the last field and extends to the end of the line.
  const word = (key: string): string => after(rest, key).split(',', 1)[0]?.trim() ?? '';
  const stated = {
    Name: name,
    LayerType: word('LayerType'),
    TacticName: word('TacticName'),
    TacticValue: word('TacticValue'),
    Inputs: tensorsIn(after(rest, 'Inputs')),
    Outputs: tensorsIn(after(rest, 'Outputs')),
    Metadata: after(rest, 'Metadata', rest.lastIndexOf(', Metadata: ')).trim(),
  };
  return engineLayer(stated, index);
}

/** The text after a key; empty without the key. */
function after(text: string, key: string, at = text.indexOf(`, ${key}: `)): string {
  return at === -1 ? '' : text.slice(at + `, ${key}: `.length);
}

function tensorsIn(list: string): UnknownRecord[] {
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
  inference_options: z.record(z.string(), z.coerce.string()).default({}),
  device_information: z.record(z.string(), z.unknown()).default({}),
});

/**
 * Parses `*.profile.metadata.json` of trt-engine-explorer: what it extracted from trtexec's log.
 * @throws ExportFormatError for any other file
 */
export function parseExplorerMetadata(text: string) {
  const { success, data } = metadataSchema.safeParse(parseJson(text));
  if (!success) throw new ExportFormatError('no "inference_options": not of trt-engine-explorer');
  const options = effectiveOptions({ 'Inference Options': data.inference_options });
  const { shapes, cudaGraph, dataTransfers, spinWait, streams } = options;
  const gpuName = stringOrNull(data.device_information['Selected Device']);
  return { shapes, cudaGraph, dataTransfers, spinWait, streams, gpuName };
}
