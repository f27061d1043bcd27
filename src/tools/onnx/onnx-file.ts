import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize, sep } from 'node:path';

import type { OnnxFacts, OnnxOpCount, OnnxTensorInfo } from './facts.ts';
import { GraphReader } from './graph.ts';
import { type ByteSource, Message, NoModelError, OnnxFormatError, WireReader } from './wire-reader.ts';

/**
 * Facts about an ONNX file. Skips weights, and only checks that external data files exist. Any model takes milliseconds
 * and a few megabytes.
 * @throws OnnxFormatError if it is not an ONNX model; the system error if it cannot be read
 */
export async function readOnnxFacts(path: string): Promise<OnnxFacts> {
  const { externalFiles, ...model } = readFile(path);
  const files = externalFiles.map(async (stated) => ({ ...stated, ...(await find(dirname(path), stated)) }));
  return { ...model, externalFiles: await Promise.all(files) };
}

/** @throws like `readOnnxFacts` */
export function onnxInputs(path: string): readonly OnnxTensorInfo[] {
  return readFile(path).inputs;
}

function readFile(path: string) {
  const status = statSync(path);
  // Opening a pipe without a writer would block forever.
  if (!status.isFile()) throw new OnnxFormatError('not a regular file');
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const read = (at: number, bytes: number): Buffer => {
      const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(bytes, size - at)));
      return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, at));
    };
    return { ...readModel({ size, read }), fileBytes: size };
  } finally {
    closeSync(file);
  }
}

type ExternalFile = ReturnType<typeof readModel>['externalFiles'][number];

const not = (problem: string) => ({ bytes: null, problem });

async function find(folder: string, { location, neededBytes }: ExternalFile) {
  if (location === '') return not('the model does not name it');
  const inside = normalize(location);
  // ONNX does not allow paths outside the folder of the model, and its checker rejects them.
  if (isAbsolute(inside) || inside === '..' || inside.startsWith(`..${sep}`) || inside.includes('\0')) {
    return not("outside of the model's folder");
  }
  const status = await stat(join(folder, inside)).catch(() => null);
  if (status === null) return not('file not found');
  if (!status.isFile()) return not('not a regular file');
  const { size: bytes } = status;
  return { bytes, problem: bytes < neededBytes ? `has ${bytes} bytes of ${neededBytes}: it is cut off` : null };
}

/**
 * Operators whose output shape depends on values. TensorRT must wait for the shape, which is arbitrary for random
 * inputs.
 */
const DATA_DEPENDENT = new Set(['NonZero', 'NonMaxSuppression', 'Unique', 'Compress']);
const LFS_POINTER = 'version https://git-lfs.github.com/spec/';
const CONTROL_FLOW = new Set(['Loop', 'If', 'Scan']);
const STANDARD_DOMAINS = new Set(['', 'ai.onnx.ml', 'ai.onnx.preview', 'ai.onnx.training', 'ai.onnx.preview.training']);

/**
 * Reads a ModelProto (field numbers as in onnx.proto, which never change). Skips the values of tensors.
 * @throws OnnxFormatError if it is not an ONNX model
 */
export function readModel(source: ByteSource) {
  if (source.size === 0) throw new NoModelError('the file is empty');
  if (new TextDecoder().decode(source.read(0, LFS_POINTER.length)) === LFS_POINTER) {
    throw new NoModelError('a Git LFS pointer, not the model itself: run git lfs pull');
  }
  const file = new Message(new WireReader(source), { start: 0, end: source.size });
  const reader = new GraphReader();
  const opsets = [...file.messages(8)].map((opset) => {
    const domain = opset.text(1);
    return { domain: domain === 'ai.onnx' ? '' : domain, version: opset.number(2) };
  });
  // Operators defined in the model, as domain and name.
  const defined = new Set<string>();
  for (const operator of file.messages(25)) {
    defined.add(`${operator.text(10)}\0${operator.text(1)}`);
    for (const node of operator.messages(7)) reader.readNode(node);
  }
  const pieces = [...file.messages(7)];
  if (pieces.length === 0) throw new OnnxFormatError('not an ONNX model: it has no graph');
  const { inputs, outputs, nodes, initializers } = reader.readGraph(pieces);
  const { ops, ...counted } = reader.facts();
  return {
    irVersion: file.number(1),
    producer: `${file.text(2)} ${file.text(3)}`.trim(),
    opsets: opsets.toSorted((a, b) => Number(a.domain !== '') - Number(b.domain !== '')),
    inputs,
    outputs,
    nodes,
    nestedNodes: reader.nodes - nodes,
    ops,
    initializers,
    ...counted,
    customOps: ops.filter(
      ({ domain, opType }) =>
        !STANDARD_DOMAINS.has(domain) &&
        !defined.has(`${domain}\0${opType}`) &&
        // ModelOpt writes some operators that TensorRT's parser supports without a plugin.
        !(domain === 'trt' && opType.startsWith('TRT_')),
    ),
    dataDependentOps: standardOps(ops, DATA_DEPENDENT),
    controlFlowOps: standardOps(ops, CONTROL_FLOW),
  };
}

function standardOps(ops: readonly OnnxOpCount[], names: ReadonlySet<string>): OnnxOpCount[] {
  return ops.filter(({ domain, opType }) => domain === '' && names.has(opType));
}
