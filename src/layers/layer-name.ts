/**
 * Names of engine layers carry numbers that differ from build to build: `__mye58075+__mye58063_myl3_4`,
 * `_gemm_mha_v2_myl0_153`, `cast_hvar^80753i64_myl3_6`. The same name in two builds of one network is the name
 * without them.
 */
export function stableName(name: string): string {
  return (
    doubledKey(name)
      .replace(/ \[profile \d+\]$/, '')
      .replace(/_myl\d+(?:_\d+)?(?=\+|$)/g, '')
      // A copy is made for a region; how far the region reaches is of the build.
      .replace(/^(Reformatting CopyNode .*)\{ForeignNode\[.*$/, '$1{ForeignNode}')
      .replace(/__mye\d+(?:_\d+)?/g, '__mye#')
      .replace(/__myln_k_arg__\w+/g, '__myln_k_arg#')
      .replace(/__tran\d+/g, '__tran#')
      .replace(/hvar\^\d+/g, 'hvar^#')
      .replace(/_0x[0-9a-f]{8,}\w*/gi, '')
  );
}

/** Dumps print `Name: Name: …` for the first layer. */
function doubledKey(name: string): string {
  return name.replace(/^Name: /, '');
}

/**
 * The ONNX nodes that a name itself tells: `a + b`, `a+b`, `{ForeignNode[a...b]}` (only its ends), `PWN(a, b)`. None for
 * names that TensorRT made up.
 */
export function originsInName(name: string): string[] {
  const bare = stableName(name);
  const foreign = /\{?ForeignNode\[(.*?)\.\.\.(.*?)\]\}?/.exec(bare);
  if (foreign !== null) return [foreign[1] ?? '', foreign[2] ?? ''].filter((node) => node !== '');
  const parts = bare
    .replace(/^Reformatting CopyNode for .*? to /, '')
    .replace(/PWN\(/g, '')
    .replace(/\)+$/g, '')
    .split(/ \+ |\+(?=\/)|, (?=\/)/)
    .map((part) => part.trim());
  return parts.filter((part) => part !== '' && !isMadeUp(part));
}

function isMadeUp(part: string): boolean {
  return /^(?:__my|_gemm_mha|cast_hvar|__tran|\{|\(Unnamed)/.test(part);
}

/** One engine layer for a whole region, of which nothing within can be seen. */
export function isOpaque(name: string): boolean {
  return /^\{?ForeignNode\[/.test(stableName(name));
}
