import type { Random } from './random.ts';

export type ProfileEntry = { name: string; timeMs: number; averageMs: number; medianMs: number; percentage: number };

export interface InfoEntry {
  Name: string;
  LayerType: string;
  TacticName?: string;
  Metadata?: string;
  [field: string]: unknown;
}

/** An engine as its two exports tell it, layer by layer in the same order. */
export type Engine = { readonly count: number; readonly profile: ProfileEntry[]; readonly info: InfoEntry[] };

export function parseEngine(profileText: string, infoText: string): Engine {
  const [head, ...profile]: [{ count: number }, ...ProfileEntry[]] = JSON.parse(escaped(profileText));
  const { Layers }: { Layers: InfoEntry[] } = JSON.parse(escaped(infoText));
  return { count: head.count, profile, info: Layers };
}

// oxlint-disable-next-line no-control-regex -- TensorRT writes them so
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g;

const escaped = (text: string): string =>
  text.replace(CONTROL, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);

export function engineTexts({ count, profile, info }: Engine): { profile: string; layers: string } {
  return {
    profile: `[\n  { "count" : ${count} }\n${profile.map((entry) => `, ${JSON.stringify(entry)}`).join('\n')}\n]\n`,
    layers: JSON.stringify({ Layers: info, Bindings: [] }),
  };
}

export const totalMs = ({ profile }: Engine): number => profile.reduce((sum, { averageMs }) => sum + averageMs, 0);

/** A second build of the same network: other serial numbers in names, and the scatter of a profile. */
export function rebuilt(engine: Engine, random: Random): Engine {
  const shift = Math.floor(random.between(100, 9000));
  const renamed = (name: string): string =>
    name
      .replace(/__mye(\d+)/g, (_, digits: string) => `__mye${Number(digits) + shift}`)
      .replace(
        /_myl(\d+)_(\d+)/g,
        (_, region: string, place: string) => `_myl${Number(region) + (shift % 7)}_${place}`,
      );
  return {
    count: engine.count,
    profile: engine.profile.map((entry) =>
      scaledEntry({ ...entry, name: renamed(entry.name) }, 1 + random.between(-0.012, 0.012)),
    ),
    info: engine.info.map((entry) => ({ ...entry, Name: renamed(entry.Name) })),
  };
}

function scaledEntry(entry: ProfileEntry, factor: number): ProfileEntry {
  const { timeMs, averageMs, medianMs } = entry;
  return { ...entry, timeMs: timeMs * factor, averageMs: averageMs * factor, medianMs: medianMs * factor };
}

// oxlint-disable-next-line no-control-regex -- the separators of TensorRT
const ORIGIN = /\[ONNX Layer: (.*?)\](?=[\u001e\u001f]|$)/g;

const originsOf = ({ Metadata }: InfoEntry): string[] =>
  [...(Metadata ?? '').matchAll(ORIGIN)].map((match) => match[1] ?? '');

/** The layers that do the same in every block, as places in the engine; at least so many milliseconds together. */
export function families(engine: Engine, leastMs: number): number[][] {
  const byPattern = new Map<string, number[]>();
  engine.info.forEach((entry, place) => {
    const origins = originsOf(entry).map((origin) => origin.replace(/\d+/g, '*'));
    if (origins.length === 0 || entry.TacticName === undefined) return;
    const key = origins.toSorted().join('|');
    byPattern.set(key, [...(byPattern.get(key) ?? []), place]);
  });
  return [...byPattern.values()].filter(
    (places) => places.reduce((sum, place) => sum + (engine.profile[place]?.averageMs ?? 0), 0) >= leastMs,
  );
}

/** Other kernels for some layers, which take so many times as long. */
export function otherTactics(engine: Engine, places: readonly number[], factor: number): Engine {
  const chosen = new Set(places);
  return {
    ...engine,
    profile: engine.profile.map((entry, place) => (chosen.has(place) ? scaledEntry(entry, factor) : entry)),
    info: engine.info.map((entry, place) =>
      chosen.has(place) ? { ...entry, TacticName: otherKernel(entry.TacticName ?? '') } : entry,
    ),
  };
}

function otherKernel(tactic: string): string {
  const tiled = tactic.replace(/tilesize(\d+)x(\d+)x(\d+)/, 'tilesize256x32x16');
  return tiled === tactic ? `${tactic.replace(/_0x[0-9a-f]+$/, '')}Alt_0x${'1234567890abcdef'.repeat(2)}` : tiled;
}

/** Splits each of some fused layers into one for each ONNX node, at most four, which together take so many times as long. */
export function lostFusion(engine: Engine, places: readonly number[], factor: number): Engine {
  const chosen = new Set(places);
  const profile: ProfileEntry[] = [];
  const info: InfoEntry[] = [];
  engine.info.forEach((entry, place) => {
    const time = engine.profile[place];
    if (time === undefined) return;
    const origins = originsOf(entry);
    if (!chosen.has(place) || origins.length < 2) {
      profile.push(time);
      info.push(entry);
      return;
    }
    const parts = Math.min(4, origins.length);
    for (let part = 0; part < parts; part += 1) {
      const own = origins.filter((_, nth) => nth % parts === part);
      const name = `${(own[0] ?? '').replaceAll('.', '_')}_myl9_${place * 8 + part}`;
      profile.push({ ...scaledEntry(time, factor / parts), name });
      info.push({
        ...entry,
        Name: name,
        TacticName: `sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x32x64_stage${part + 2}`,
        Metadata: own.map((origin) => `[ONNX Layer: ${origin}]`).join('\u001f'),
      });
    }
  });
  return { count: engine.count, profile, info };
}

/** Families of layers that are fused from several nodes. */
export function fusedFamilies(engine: Engine, leastMs: number): number[][] {
  return families(engine, leastMs).filter((places) =>
    places.every((place) => originsOf(engine.info[place] ?? { Name: '', LayerType: '' }).length >= 2),
  );
}
