import { knownNodes, type LayerFacts } from './layer-facts.ts';
import { originsInName } from './layer-name.ts';

/** Nodes with their common scope once: `blocks.3.attn: AV, QK`. */
export function nodesLabel(nodes: readonly string[]): string {
  const byScope = Map.groupBy(nodes, (node) => node.slice(0, node.lastIndexOf('/') + 1));
  return [...byScope]
    .map(([scope, members]) => {
      const names = members.map((node) => node.slice(scope.length));
      if (scope === '') return names.join(', ');
      return names.length === 1 ? `${scope}${names[0]}` : `${scope.slice(0, -1)}: ${names.join(', ')}`;
    })
    .join(' + ');
}

/** Display name: the ONNX nodes, or else the name without the parts that differ between builds. */
export function layerLabel(layer: LayerFacts): string {
  const known = knownNodes(layer);
  return known.length > 0 ? nodesLabel(known) : layer.stableName;
}

/** The layer's own name if TensorRT made it up (`_gemm_mha_v2`), else the last part of the node. */
export function kernelName({ name, stableName }: LayerFacts): string {
  const [node] = originsInName(name);
  return node === undefined ? stableName : (node.split('/').at(-1) ?? node);
}
