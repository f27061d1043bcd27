import type { CapturePreset } from './capture.ts';
import type { WishOptions } from './steps.ts';
import type { TargetOptions } from './target.ts';

export interface ProfileOptions extends TargetOptions, WishOptions {
  readonly json?: boolean;
  readonly db?: string;
  readonly nsys?: boolean;
  /** A layer, or the one that takes longest. */
  readonly ncu?: string | true;
  readonly preset?: CapturePreset;
  readonly window?: string;
  readonly dryRun?: boolean;
  readonly maxSize: number;
}
