import { type OnnxTensorInfo, shapeText } from './facts.ts';
import type { GraphTally } from './graph-tally.ts';
import { readNode, type QuantizingNode } from './node.ts';
import { readTensor } from './tensor.ts';
import { readValueInfo } from './value-info.ts';
import type { WireField, WireReader } from './wire-reader.ts';

export interface GraphFacts {
  readonly inputs: readonly OnnxTensorInfo[];
  readonly outputs: readonly OnnxTensorInfo[];
  readonly nodes: number;
  readonly nestedNodes: number;
  readonly initializers: number;
  readonly quantizing: readonly QuantizingNode[];
}

/** A GraphProto: the main one, or one inside of a node. */
export function readGraph(wire: WireReader, message: WireField, tally: GraphTally): GraphFacts {
  const inputs: OnnxTensorInfo[] = [];
  const outputs: OnnxTensorInfo[] = [];
  const initialized = new Set<string>();
  const quantizing: QuantizingNode[] = [];
  let nodes = 0;
  let nestedNodes = 0;
  let initializers = 0;
  const fields = message.kind === 'bytes' ? wire.fields(message.start, message.end) : [];
  for (const field of fields) {
    switch (field.number) {
      case 1: {
        const node = readNode(wire, field, tally, readGraph);
        nodes += 1;
        nestedNodes += node.nestedNodes;
        for (const inner of node.quantizing) quantizing.push(inner);
        break;
      }
      case 5: {
        const tensor = readTensor(wire, field);
        initializers += 1;
        initialized.add(tensor.name);
        tally.setType(tensor.name, tensor.dataType);
        tally.addTensor(tensor);
        break;
      }
      case 11:
      case 12: {
        const info = readValueInfo(wire, field);
        tally.keep(`${info.name} ${shapeText(info.shape)}`);
        (field.number === 11 ? inputs : outputs).push(info);
        break;
      }
      case 15:
        initializers += 1;
        break;
    }
  }
  const open = inputs.filter(({ name }) => !initialized.has(name));
  return { inputs: open, outputs, nodes, nestedNodes, initializers, quantizing };
}
