import * as z from 'zod';

const ID = /^[0-9a-f]{32}$/;

export function isId(text: string): boolean {
  return ID.test(text);
}

/** Strict, because IDs become names of folders and files. */
export const idSchema = z.string().regex(ID, 'is not an id: 32 hexadecimal digits');

export const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/);
/**
 * An ID that the compiler distinguishes from other kinds: a run ID is not a sweep ID. Plain text is accepted as any of
 * them.
 */
type Id<Of extends string> = string & { readonly idOf?: Of };

/** 32 hexadecimal digits, equal for equal cells. */
export type CellKey = Id<'cell'>;
export type SweepId = Id<'sweep'>;
export type RunId = Id<'run'>;
export type BuildId = Id<'build'>;

export const count = z.number().int().min(0);
export const textOrNull = z.string().nullable();
export const numberOrNull = z.number().nullable();
export const flagOrNull = z.boolean().nullable();
export const textByName = z.record(z.string(), z.string());

export const matching = (pattern: RegExp, problem?: string) => z.string().regex(pattern, problem);

export const allOptional = <Shape extends z.ZodRawShape>(shape: Shape) => z.strictObject(shape).partial();

export const wholeFrom = (least: number) => z.number().int().min(least);

type Primitive = string | number | bigint | boolean | null | undefined;

/** Deeply readonly form of an inferred type. */
export type Immutable<Value> = unknown extends Value
  ? Value
  : Value extends Primitive
    ? Value
    : { readonly [Key in keyof Value]: Immutable<Value[Key]> };
