/**
 * Removes numbers from a layer name that differ between builds, so that names are comparable:
 * `__mye58075+__mye58063_myl3_4`, `_gemm_mha_v2_myl0_153`, `cast_hvar^80753i64_myl3_6`.
 */
export function stableName(name: string): string {
  return (
    name
      // Dumps print `Name: Name: …` for the first layer.
      .replace(/^Name: /, '')
      .replace(/ \[profile \d+\]$/, '')
      .replace(/_myl\d+(?:_\d+)?(?=\+|$)/g, '')
      // The name of a copy includes its region, whose end differs between builds.
      .replace(/^(Reformatting CopyNode .*)\{ForeignNode\[.*$/, '$1{ForeignNode}')
      .replace(/__mye\d+(?:_\d+)?/g, '__mye#')
      .replace(/__myln_k_arg__\w+/g, '__myln_k_arg#')
      .replace(/__tran\d+/g, '__tran#')
      .replace(/hvar\^\d+/g, 'hvar^#')
      .replace(/_0x[0-9a-f]{8,}\w*/gi, '')
  );
}

/** ONNX nodes in a name: `a + b`, `a+b`, `{ForeignNode[a...b]}` (only its ends), `PWN(a, b)`. May be empty. */
export function originsInName(name: string): string[] {
  const bare = stableName(name);
  const foreign = /\{?ForeignNode\[(.*?)\.\.\.(.*?)\]\}?/.exec(bare);
  if (foreign !== null) return [foreign[1] ?? '', foreign[2] ?? ''].filter((node) => node !== '');
  const parts = bare
    .replace(/^Reformatting CopyNode for .*? to /, '')
    .replace(/PWN\((.*?)\)*$/, (_, inner: string) => inner.replaceAll('PWN(', ''))
    .split(/ \+ |\+(?=\/)|, (?=\/)/)
    .map((part) => part.trim());
  // TensorRT makes up names of its own.
  return parts.filter((part) => part !== '' && !/^(?:__my|_gemm_mha|cast_hvar|__tran|\{|\(Unnamed)/.test(part));
}

/** Whether a name is that of one layer for a whole region, whose content is not visible. */
export function isOpaque(name: string): boolean {
  return /^\{?ForeignNode\[/.test(stableName(name));
}

/** Whether quantization added a node. Such nodes differ between the precisions of a network. */
export function isQuantizeNode(origin: string): boolean {
  return /(?:Quantize|Dequantize)Linear(?:_\d+)?(?:_(?:de)?quantize_scale_node)?$/.test(origin);
}

/** Whether a precision tool added a cast. It belongs to the variant, not to the network. */
export function isAddedCast(origin: string): boolean {
  return /_cast_to_(?:fp16|bf16|fp32|float16|float)\w*$/i.test(origin);
}

/** The path of a node as its parts: `/vit/layer.21/attention/query/MatMul` → `vit`, `layer.21`, `attention`, … */
function scopeParts(origin: string): string[] {
  const parts: string[] = [];
  for (const piece of origin.split(/[/.]/)) {
    if (piece === '') continue;
    if (/^\d+$/.test(piece) && parts.length > 0) parts.push(`${parts.pop()}.${piece}`);
    else parts.push(piece);
  }
  return parts;
}

/** The scope of a node to some depth, without the node itself: `vit/encoder` for 2. */
export function scopeOf(origin: string, depth: number): string {
  const parts = scopeParts(origin);
  return parts.slice(0, Math.max(1, Math.min(depth, parts.length - 1))).join('/');
}

/**
 * First numbered part of the path with the next part, such as `layer.21/attention` or `layer0.0/conv1`; else the first
 * part.
 */
export function blockOf(origin: string): string {
  const scope = scopeParts(origin).slice(0, -1);
  const numbered = scope.findIndex((part) => /\d$/.test(part));
  if (numbered === -1) return scope[0] ?? origin;
  return scope.slice(numbered, numbered + 2).join('/');
}

/** Equal for every block: `blocks.3.attn/QK` → `blocks.*.attn/QK`, `layer1.0.conv2` → `layer*.*.conv2`. */
export function withoutNumbers(name: string): string {
  return name.replace(/(?<=[a-z])\d+(?=\.\d+(?:[./]|$))/gi, '*').replace(/(?<=[./_])\d+(?=[./_]|$)/g, '*');
}

/** Parts of a kernel name; null for a missing part. */
export function parseTactic(text: string) {
  const hashed = /^(.*?)_?(0x[0-9a-f]{8,})(_\w+)?$/i.exec(text);
  const name = hashed === null ? text : `${hashed[1]}${hashed[3] ?? ''}`;
  const match = (pattern: RegExp): string | null => pattern.exec(name)?.[1] ?? null;
  const [architecture, stages] = [match(/^sm(\d{2,3})_/), match(/stage(?:s?)(\d+)/)];
  return {
    /** Without the hash of a generated kernel, which differs between builds and proves nothing alone. */
    name: name === '' ? text : name,
    hash: hashed?.[2] ?? null,
    /** Compute capability of the kernel, such as `90` of `sm90_xmma_gemm_…`. */
    architecture: architecture === null ? null : Number(architecture),
    /** Types of operands, accumulator and output: `f16f16_f16f32_f32`. */
    types: match(
      /_((?:(?:e4m3|e5m2|bf16|tf32|f16|f32|i8|i32|s8|u8)+)(?:_(?:e4m3|e5m2|bf16|tf32|f16|f32|i8|i32|s8|u8)+)*)_/,
    ),
    tile: match(/tilesize(\d+x\d+x\d+)/),
    stages: stages === null ? null : Number(stages),
  };
}

export function compareTactics(a: string | null, b: string | null): 'same' | 'otherHash' | 'tactic' {
  if (a === b || a === null || b === null) return 'same';
  const [was, is] = [parseTactic(a), parseTactic(b)];
  if (was.name !== is.name) return 'tactic';
  return was.hash === is.hash ? 'same' : 'otherHash';
}

/** Describes changes such as `tile 64x64x64 → 256x64x32, stages 4 → 3`. */
export function describeTacticChange(a: string, b: string): string {
  const [was, is] = [parseTactic(a), parseTactic(b)];
  if (was.name === is.name) return 'another generated kernel of the same kind';
  const parts = [
    ['tile', was.tile, is.tile],
    ['stages', was.stages, is.stages],
    ['types', was.types, is.types],
    ['sm', was.architecture, is.architecture],
  ].flatMap(([what, x, y]) => (x !== y && x !== null && y !== null ? [`${what} ${x} → ${y}`] : []));
  return parts.length > 0 ? parts.join(', ') : `${was.name} → ${is.name}`;
}
