/** Precisions of tensor cores; `fp32` runs without them. */
const PEAK_PRECISIONS = ['fp32', 'tf32', 'fp16', 'bf16', 'fp8', 'int8', 'int4'] as const;

export type PeakPrecision = (typeof PEAK_PRECISIONS)[number];

/** Dense FLOP of one SM per clock, without sparsity. Omits precisions that its tensor cores lack. */
type PerClock = Readonly<Partial<Record<PeakPrecision, number>>>;

const VOLTA: PerClock = { fp32: 128, fp16: 1024 };
const TURING: PerClock = { fp32: 128, fp16: 1024, int8: 2048, int4: 4096 };
const AMPERE: PerClock = { fp32: 128, tf32: 1024, fp16: 2048, bf16: 2048, int8: 4096, int4: 8192 };
/** Graphics cards and cards with the same chips: A10, A40, RTX A6000. */
const GA10X: PerClock = { fp32: 256, tf32: 512, fp16: 1024, bf16: 1024, int8: 2048, int4: 4096 };
const ADA: PerClock = { ...GA10X, fp8: 2048 };
/** GeForce cards run at half the rate when they accumulate in FP32, as TF32 and BF16 always do. */
const GEFORCE_ADA: PerClock = { ...ADA, tf32: 256, bf16: 512 };
const HOPPER: PerClock = { fp32: 256, tf32: 2048, fp16: 4096, bf16: 4096, fp8: 8192, int8: 8192 };

export interface GpuPeaks {
  /** Names according to nvidia-smi, without `NVIDIA` or `Tesla`. */
  readonly names: readonly string[];
  readonly sms: number;
  /** Boost clock in MHz, for which the peaks are published. */
  readonly boostMhz: number;
  /** The highest published clock of the card in MHz. */
  readonly highestMhz: number;
  readonly memoryGBs: number;
  readonly perClock: PerClock;
  readonly source: string;
}

const HOPPER_PAPER = 'NVIDIA H100 Tensor Core GPU Architecture (whitepaper)';
const AMPERE_PAPER = 'NVIDIA A100 Tensor Core GPU Architecture (whitepaper), A100 datasheet';
const GA102_PAPER = 'NVIDIA Ampere GA102 GPU Architecture (whitepaper)';
const ADA_PAPER = 'NVIDIA Ada GPU Architecture (whitepaper)';

/**
 * Chips whose SMs, clock and peaks NVIDIA publishes. A card that is not listed has no peak. A test derives each
 * published peak from SMs, operations and clock.
 */
export const GPU_PEAKS: readonly GpuPeaks[] = [
  gpu(['H200'], 132, 1830, 4800, HOPPER, `${HOPPER_PAPER}; H200 datasheet`, 1980),
  gpu(['H100 80GB HBM3'], 132, 1830, 3350, HOPPER, `${HOPPER_PAPER}; H100 datasheet`, 1980),
  gpu(['H100 PCIe'], 114, 1620, 2000, HOPPER, `${HOPPER_PAPER}; H100 datasheet`, 1755),
  gpu(['A100-SXM4-80GB'], 108, 1410, 2039, AMPERE, AMPERE_PAPER),
  gpu(['A100 80GB PCIe'], 108, 1410, 1935, AMPERE, AMPERE_PAPER),
  gpu(['A100-SXM4-40GB', 'A100-PCIE-40GB'], 108, 1410, 1555, AMPERE, AMPERE_PAPER),
  gpu(['A30'], 56, 1440, 933, AMPERE, 'NVIDIA A30 datasheet and product brief'),
  gpu(['A10'], 72, 1695, 600, GA10X, `NVIDIA A10 datasheet; ${GA102_PAPER}`),
  gpu(['A40'], 84, 1740, 696, GA10X, `NVIDIA A40 datasheet; ${GA102_PAPER}`),
  gpu(['RTX A6000'], 84, 1800, 768, GA10X, GA102_PAPER),
  gpu(['L4'], 58, 2040, 300, ADA, `NVIDIA L4 datasheet; ${ADA_PAPER}`),
  gpu(['L40S'], 142, 2520, 864, ADA, `NVIDIA L40S datasheet; ${ADA_PAPER}`),
  gpu(['RTX 6000 Ada Generation'], 142, 2505, 960, ADA, `NVIDIA RTX 6000 Ada datasheet; ${ADA_PAPER}`),
  gpu(['GeForce RTX 4090'], 128, 2520, 1008, GEFORCE_ADA, ADA_PAPER),
  gpu(['T4'], 40, 1590, 320, TURING, 'NVIDIA Turing GPU Architecture (whitepaper); T4 datasheet'),
  gpu(['V100-SXM2-16GB', 'V100-SXM2-32GB'], 80, 1530, 900, VOLTA, 'NVIDIA Tesla V100 GPU Architecture (whitepaper)'),
];

function gpu(
  names: readonly string[],
  sms: number,
  boostMhz: number,
  memoryGBs: number,
  perClock: PerClock,
  source: string,
  highestMhz = boostMhz,
): GpuPeaks {
  return { names, sms, boostMhz, highestMhz, memoryGBs, perClock, source };
}

/** Null for a card that is not in the table. @param name name from nvidia-smi or trtexec */
export function peaksOf(name: string): GpuPeaks | null {
  const short = name.replace(/^(?:(?:NVIDIA|Tesla) )+/, '').toLowerCase();
  return GPU_PEAKS.find(({ names }) => names.some((known) => known.toLowerCase() === short)) ?? null;
}

/** Dense FLOP/s at a clock; null for a precision that its tensor cores lack. */
export function peakFlops({ perClock, sms }: GpuPeaks, precision: string, clockMhz: number): number | null {
  const known = PEAK_PRECISIONS.find((one) => one === precision);
  const perSm = known === undefined ? undefined : perClock[known];
  return perSm === undefined ? null : sms * perSm * clockMhz * 1e6;
}
