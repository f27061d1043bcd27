import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { join } from 'node:path';

import * as z from 'zod';

import { idSchema } from '../../records/scalars.ts';
import { attemptFields } from './attempt-fields.ts';
import { hashFile } from './hash-file.ts';

export const BUNDLE_MANIFEST = 'manifest.json';
export const BUNDLE_RUNS = 'runs';

const fileSchema = z.object({
  name: z.string().regex(/^[\w-][\w.-]{0,200}$/),
  bytes: z.number().int().min(0),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

/** `manifest.json` of a bundle: what a shard measured, and on what. Its hash is the bundle's identity. */
const bundleSchema = z.object({
  schemaVersion: z.literal(1),
  ...attemptFields,
  sweepId: idSchema,
  shard: z.number().int().min(0),
  endedAt: z.string(),
  runs: z.array(z.object({ runId: idSchema, files: z.array(fileSchema).max(1000) })).max(100_000),
});

export type BundleManifest = z.infer<typeof bundleSchema>;
export type BundleFile = z.infer<typeof fileSchema>;

const MAX_MANIFEST_BYTES = 64 << 20;
const MAX_FILE_BYTES = 2 ** 32;

export type BundleReading =
  | { readonly kind: 'missing' }
  | { readonly kind: 'faulty'; readonly problem: string }
  | { readonly kind: 'read'; readonly manifest: BundleManifest; readonly sha256: string };

/** Reads the manifest of a bundle. Neither links nor anything outside of it are followed. */
export async function readBundle(folder: string): Promise<BundleReading> {
  let text: string;
  try {
    if (!(await lstat(folder)).isDirectory()) return { kind: 'faulty', problem: 'is no folder' };
    text = await readSmall(join(folder, BUNDLE_MANIFEST));
  } catch (error) {
    if (error instanceof BundleError) return { kind: 'faulty', problem: error.message };
    return { kind: 'missing' };
  }
  try {
    const manifest = bundleSchema.parse(JSON.parse(text));
    return { kind: 'read', manifest, sha256: createHash('sha256').update(text).digest('hex') };
  } catch {
    return { kind: 'faulty', problem: 'its manifest.json is damaged' };
  }
}

/** Something about a bundle that must not be trusted. */
export class BundleError extends Error {
  override readonly name = 'BundleError';
}

async function readSmall(path: string): Promise<string> {
  const { file, size } = await openPlain(path);
  try {
    if (size > MAX_MANIFEST_BYTES) throw new BundleError('its manifest.json is too large');
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Opens a file and no link. @throws BundleError for anything but a plain file */
async function openPlain(path: string): Promise<{ file: FileHandle; size: number }> {
  let file;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ELOOP') throw new BundleError('has a symbolic link in it');
    throw error;
  }
  const info = await file.stat();
  if (info.isFile()) return { file, size: info.size };
  await file.close();
  throw new BundleError('has something in it that is no file');
}

/**
 * Looks whether a file of a bundle is what its manifest says.
 * @returns what it holds, if that is not much
 * @throws BundleError when it is not
 */
export async function verifyFile(path: string, stated: BundleFile): Promise<Buffer | null> {
  if (stated.bytes > MAX_FILE_BYTES) throw new BundleError(`${stated.name} is too large`);
  const { file, size } = await openPlain(path).catch((error: unknown) => {
    throw error instanceof BundleError ? error : new BundleError(`${stated.name} is missing`);
  });
  try {
    if (size !== stated.bytes) {
      throw new BundleError(`${stated.name} has ${size} bytes, not ${stated.bytes}`);
    }
    const { content, sha256 } = await hashFile(file, size);
    if (sha256 !== stated.sha256) {
      throw new BundleError(`${stated.name} is not what its manifest says`);
    }
    return content;
  } finally {
    await file.close();
  }
}

/** The shards that have a folder among the bundles. */
export async function bundledShards(bundles: string): Promise<Set<number>> {
  const names = await readdir(bundles).catch((): string[] => []);
  return new Set(names.filter((name) => /^\d+$/.test(name)).map(Number));
}
