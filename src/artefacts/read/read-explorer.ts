import { existsSync } from 'node:fs';
import { basename } from 'node:path';

import { keyedCell } from '../../records/cell-key.ts';
import { UsageError } from '../../errors.ts';
import { PRECISIONS } from '../../records/precision.ts';
import { printable } from '../../text/printable.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import { type ExplorerMetadata, NOTHING_SAID, parseExplorerMetadata } from '../../trtexec/exports/explorer-metadata.ts';
import { plainName } from '../files.ts';
import { LAYER_NAMES } from './read-lone-layers.ts';
import { contentOf, type LoneReading, readKeptFiles } from './read-lone.ts';
import type { ReadRun } from './read-run.ts';

/** Endings of the model's file and the engine's, of which trt-engine-explorer makes the names of its own. */
const ENDINGS = /(?:\.(?:onnx|engine|plan|trt))+$/;

/**
 * Reads what trt-engine-explorer left of one engine: `X.graph.json`, and beside it `X.profile.json` and
 * `X.profile.metadata.json`.
 * @param path of the graph
 * @throws UsageError when one of them is damaged
 */
export async function readExplorerFiles(path: string, { stated }: LoneReading): Promise<ReadRun> {
  const stem = plainName(path).replace(/\.graph\.json$/, '');
  const profile = besides(stem, ['.profile.json']);
  const metadataPath = besides(stem, ['.profile.metadata.json', '.metadata.json']);
  const said = metadataPath === null ? NOTHING_SAID : await metadataIn(metadataPath);
  const cell = keyedCell({
    model: stated.model ?? basename(stem).replace(ENDINGS, ''),
    precision: isOneOf(PRECISIONS, stated.precision) ? stated.precision : 'unstated',
    precisionVia: 'engine',
    shapes: said.shapes ?? stated.shapes ?? {},
    cudaGraph: said.cudaGraph ?? stated.cudaGraph ?? false,
    dataTransfers: said.dataTransfers ?? false,
    streams: said.streams ?? 1,
    spinWait: said.spinWait ?? false,
    inputs: { kind: 'random' },
    axisFlags: {},
  });
  const sources = new Map<string, string>([[path, LAYER_NAMES.info]]);
  if (profile !== null) sources.set(profile, LAYER_NAMES.profile);
  if (metadataPath !== null) sources.set(metadataPath, 'metadata.json');
  const environment = said.gpuName === null ? {} : { gpuName: said.gpuName };
  const lone = { kind: 'layers' as const, format: 'trtexec' as const, runs: null };
  return readKeptFiles(path, { role: 'profile', cell, lone, environment }, sources);
}

function besides(stem: string, endings: readonly string[]): string | null {
  const paths = endings.flatMap((ending) => ['', '.gz', '.zst', '.br'].map((packed) => stem + ending + packed));
  return paths.find((path) => existsSync(path)) ?? null;
}

async function metadataIn(path: string): Promise<ExplorerMetadata> {
  const text = (await contentOf(path)).toString('utf8');
  try {
    return parseExplorerMetadata(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${printable(path)}: ${reason}`, { cause: error });
  }
}
