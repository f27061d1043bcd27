export interface TensorrtVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/**
 * Decodes trtexec's marker: up to 9.x `major*1000 + minor*100 + patch` (`v8601` is 8.6.1), from 10.0 `major*10000 +
 * minor*100 + patch` (`v100600` is 10.6.0).
 */
export function decodeMarkerVersion(digits: string): TensorrtVersion {
  const number = Number(digits);
  const unit = digits.length <= 4 ? 1000 : 10_000;
  return { major: Math.floor(number / unit), minor: Math.floor((number % unit) / 100), patch: number % 100 };
}

/** Parses `10.6`, `10.6.0` or `10.6.0.26`; null for other text. */
export function parseTensorrtVersion(text: string): TensorrtVersion | null {
  const match = /^v?(\d{1,2})\.(\d{1,2})(?:\.(\d{1,2}))?(?:\.\d+)?$/.exec(text.trim());
  if (match === null) return null;
  return { major: Number(match[1]), minor: Number(match[2]), patch: Number(match[3] ?? 0) };
}

export function formatTensorrtVersion({ major, minor, patch }: TensorrtVersion): string {
  return `${major}.${minor}.${patch}`;
}

/** Negative when `a` is older; 0 for the same release. */
export function compareTensorrtVersions(a: TensorrtVersion, b: TensorrtVersion): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}

/** @param text a version such as `9.1` */
export function isAtLeast(version: TensorrtVersion, text: string): boolean {
  const other = parseTensorrtVersion(text);
  if (other === null) throw new TypeError(`not a TensorRT version: ${text}`);
  return compareTensorrtVersions(version, other) >= 0;
}
