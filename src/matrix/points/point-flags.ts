import type { SourcePosition } from '../../errors.ts';
import type { Placed } from '../matrix.ts';
import { namedAxis } from '../../records/axis.ts';
import type { AxisValue, Point } from './axes.ts';

/** A flag that stands on an axis, by itself or by the word for it. */
export interface PointFlag {
  readonly flag: string;
  /** `''` for a flag without a value. */
  readonly value: string;
  readonly at: SourcePosition;
}

/** trtexec's names of the settings that may stand on an axis. */
const METHOD_FLAGS: Readonly<Record<string, string>> = {
  warmUpMs: '--warmUp',
  durationS: '--duration',
  iterations: '--iterations',
};

/** What stands on an axis is part of the cell; a flag that is off is the same as no flag. */
export function axisFlags(point: Point): Record<string, string> {
  const flags: Record<string, string> = {};
  for (const [name, placed] of point) {
    const method = METHOD_FLAGS[name];
    const text = textOf(placed.value);
    if (method !== undefined && text !== null) flags[method] = text;
    for (const { flag, value } of flagsOfAxis(name, placed)) flags[flag] = value;
  }
  return flags;
}

/** The flags of a point, in the order of its axes. */
export function pointFlags(point: Point): PointFlag[] {
  return [...point].flatMap(([name, placed]) => flagsOfAxis(name, placed));
}

function flagsOfAxis(name: string, { at, value }: Placed<AxisValue>): PointFlag[] {
  const text = textOf(value);
  if (text === null) return [];
  if (name.startsWith('-')) return [{ flag: name, value: text, at }];
  const spelled = namedAxis(name)?.spell(text) ?? {};
  return Object.entries(spelled).map(([flag, inner]) => ({ flag, value: inner, at }));
}

function textOf(value: AxisValue | undefined): string | null {
  switch (value?.kind) {
    case 'switch':
      return value.on ? '' : null;
    case 'number':
      return String(value.number);
    case 'word':
      return value.word;
    default:
      return null;
  }
}

export function isOnDla(point: Point): boolean {
  const device = point.get('device')?.value;
  return device?.kind === 'word' && device.word !== 'gpu';
}
