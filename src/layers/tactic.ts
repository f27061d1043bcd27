/** Parts of a kernel name; null for a missing part. */
export function parseTactic(text: string) {
  const hashed = /^(.*?)_?(0x[0-9a-f]{8,})(_\w+)?$/i.exec(text);
  const name = hashed === null ? text : `${hashed[1]}${hashed[3] ?? ''}`;
  const match = (pattern: RegExp): string | null => pattern.exec(name)?.[1] ?? null;
  const number = (pattern: RegExp): number | null => {
    const found = match(pattern);
    return found === null ? null : Number(found);
  };
  return {
    /** Without the hash of a generated kernel, which differs between builds and proves nothing alone. */
    name: name === '' ? text : name,
    hash: hashed?.[2] ?? null,
    /** Compute capability of the kernel, such as `90` of `sm90_xmma_gemm_…`. */
    architecture: number(/^sm(\d{2,3})_/),
    /** Types of operands, accumulator and output: `f16f16_f16f32_f32`. */
    types: match(
      /_((?:(?:e4m3|e5m2|bf16|tf32|f16|f32|i8|i32|s8|u8)+)(?:_(?:e4m3|e5m2|bf16|tf32|f16|f32|i8|i32|s8|u8)+)*)_/,
    ),
    tile: match(/tilesize(\d+x\d+x\d+)/),
    stages: number(/stage(?:s?)(\d+)/),
  };
}

export type TacticChange = 'same' | 'other hash' | 'other kernel';

export function compareTactics(a: string | null, b: string | null): TacticChange {
  if (a === b || a === null || b === null) return 'same';
  const [was, is] = [parseTactic(a), parseTactic(b)];
  if (was.name !== is.name) return 'other kernel';
  return was.hash === is.hash ? 'same' : 'other hash';
}

/** Describes changes such as `tile 64x64x64 → 256x64x32, stages 4 → 3`. */
export function describeTacticChange(a: string, b: string): string {
  const [was, is] = [parseTactic(a), parseTactic(b)];
  if (was.name === is.name) return 'another generated kernel of the same kind';
  const parts: string[] = [];
  const differ = (what: string, x: string | number | null, y: string | number | null): void => {
    if (x !== y && x !== null && y !== null) parts.push(`${what} ${x} → ${y}`);
  };
  differ('tile', was.tile, is.tile);
  differ('stages', was.stages, is.stages);
  differ('types', was.types, is.types);
  differ('sm', was.architecture, is.architecture);
  if (parts.length > 0) return parts.join(', ');
  return differingWords(was.name, is.name);
}

function differingWords(a: string, b: string): string {
  const [before, after] = [a.split('_'), b.split('_')];
  const gone = before.filter((word) => !after.includes(word));
  const come = after.filter((word) => !before.includes(word));
  if (gone.length + come.length === 0 || gone.length > before.length / 2) return `${a} → ${b}`;
  return `${gone.join('_') || 'none'} → ${come.join('_') || 'none'}`;
}
