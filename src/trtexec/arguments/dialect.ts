import { type Cell, type Precision, type PrecisionRoute, type Shapes, UNREADABLE_NAME } from '../../records/cell.ts';
import { findFlag, isFlagIn } from '../flags/flag-table.ts';
import { compareTensorrtVersions, formatTensorrtVersion, isAtLeast, type TensorrtVersion } from '../../text/version.ts';

/** Supported versions; others are rejected before anything is run. */
const OLDEST_VERSION = '8.4';
const NEWEST_KNOWN_MAJOR = 11;

/** Flags, or why there are none. */
export type Spelling = readonly string[] | { readonly problem: string };

/**
 * Translates a matrix to the trtexec flags of one version. Defaults changed in 11.0, so every setting is written out if
 * the version has a flag for it. Where a setting is the default of 11.x and only its old flag is left, the flag is left
 * out, and the banner is checked after the run.
 */
export class Dialect {
  readonly version: TensorrtVersion;

  constructor(version: TensorrtVersion) {
    this.version = version;
  }

  get name(): string {
    return formatTensorrtVersion(this.version);
  }

  get refusal(): string | null {
    const { name, version } = this;
    if (!isAtLeast(version, OLDEST_VERSION)) return `trtexec ${name} is too old: 8.4 to 11.x are known`;
    return version.major > NEWEST_KNOWN_MAJOR ? `trtexec ${name} is newer than this bench knows: 8.4 to 11.x` : null;
  }

  has(flag: string): boolean {
    return isFlagIn(flag, this.version);
  }

  /** The first memory pool that this version does not have; null if it has all. */
  missingPool(pools: string): string | null {
    if (!pools.includes('tacticSharedMem:')) return null;
    if (!isAtLeast(this.version, '10.0')) return 'tacticSharedMem: it was added in 10.0';
    return /\dK/.test(pools) && !isAtLeast(this.version, '10.1') ? 'tacticSharedMem in KiB: since 10.1' : null;
  }

  private get is11(): boolean {
    return this.version.major >= 11;
  }

  intent(cell: Pick<Cell, 'cudaGraph' | 'dataTransfers' | 'spinWait' | 'streams'>): string[] {
    const { is11 } = this;
    const switches = [
      [cell.cudaGraph, is11, '--useCudaGraph', '--noCudaGraph'],
      [cell.dataTransfers, !is11, '--includeDataTransfers', '--noDataTransfers'],
      [cell.spinWait, is11, '--useSpinWait', '--noSpinWait'],
    ] as const;
    return [
      ...switches.flatMap(([isOn, byDefault, on, off]) => ((isOn ?? false) === byDefault ? [] : [isOn ? on : off])),
      `${this.has('--infStreams') ? '--infStreams' : '--streams'}=${cell.streams}`,
    ];
  }

  precision(precision: Precision, via: PrecisionRoute): Spelling {
    if (via === 'engine') return [];
    return via === 'flag' ? this.precisionByFlag(precision) : this.precisionOfModel(precision);
  }

  private precisionByFlag(precision: Precision): Spelling {
    if (precision === 'tf32') return [];
    if (precision === 'fp32') return ['--noTF32'];
    const flag = `--${precision}`;
    if (this.has(flag)) return [flag];
    if (!this.is11) return { problem: this.lacks(flag) };
    const tool = precision === 'fp16' || precision === 'bf16' ? 'autocast' : 'modelopt';
    const onnx = `an ONNX file that is ${precision} already (precisions: {${precision}: {onnx: FILE}})`;
    const instead = precision === 'best' ? 'a named precision' : `precisions: {${precision}: ${tool}}, or ${onnx}`;
    return { problem: `TensorRT 11 removed ${flag}: the precision is in the ONNX file now; use ${instead}` };
  }

  /**
   * Flags for a model that states its precision: strongly typed since 9.1, before that the flags that allow the
   * precision.
   */
  private precisionOfModel(precision: Precision): Spelling {
    const tf32 = precision === 'fp32' ? ['--noTF32'] : [];
    if (precision === 'best') {
      return { problem: '"best" lets trtexec choose by flag: write precisions: {best: flag}' };
    }
    if (this.is11) return tf32;
    if (this.has('--stronglyTyped')) return ['--stronglyTyped', ...tf32];
    if (precision === 'fp32' || precision === 'tf32') return tf32;
    const flag = `--${precision}`;
    if (!this.has(flag)) return { problem: this.lacks(flag) };
    return precision === 'fp16' || precision === 'bf16' ? [flag] : [flag, '--fp16'];
  }

  /** Why a flag cannot be used. */
  lacks(flag: string): string {
    const known = findFlag(flag);
    const isOld = known !== undefined && compareTensorrtVersions(this.version, known.since) < 0;
    const since = isOld ? `: it was added in ${shortName(known.since)}` : '';
    const until = !isOld && known?.removed ? `: ${shortName(known.removed)} removed it` : '';
    return `trtexec ${this.name} has no ${flag}${since}${until}`;
  }

  /** Percentiles: a list since 8.5, a single one before. */
  percentiles(wanted: readonly number[]): string[] {
    if (isAtLeast(this.version, '8.5')) return [`--percentile=${wanted.join(',')}`];
    return [`--percentile=${wanted.includes(99) ? 99 : (wanted.at(-1) ?? 99)}`];
  }

  skipInference(): string {
    return this.has('--skipInference') ? '--skipInference' : '--buildOnly';
  }

  separateProfile(): string[] {
    return this.is11 ? [] : ['--separateProfileRun'];
  }

  /** `name:dims,name:dims`. The last colon separates, because names may contain colons. */
  shapes(shapes: Shapes): { readonly text: string; readonly problem: string | null } {
    let problem: string | null = null;
    const parts: string[] = [];
    for (const [input, dimensions] of Object.entries(shapes)) {
      if (UNREADABLE_NAME.test(input)) {
        problem ??= `input "${input}": trtexec does not support a name with a comma, a quote or a space`;
      } else if (dimensions.length === 0 && !isAtLeast(this.version, '10.0')) {
        problem ??= `input "${input}" is a scalar: trtexec ${this.name} does not support it`;
      }
      parts.push(`${input}:${dimensions.join('x')}`);
    }
    return { text: parts.join(','), problem };
  }
}

function shortName({ major, minor }: TensorrtVersion): string {
  return `${major}.${minor}`;
}
