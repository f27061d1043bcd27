import { printable } from '../../text/printable.ts';
import { defaultOf, scriptQuote } from '../../text/shell-quote.ts';
import { BASE_FILE, calibrationFile, VARIANT_FILE } from '../../tools/modelopt/conversion-args.ts';
import type { ReproConversion, Reproduction } from './reproduction.ts';

const FOLDER = 'variant';

/** Lines that say so when a file has another hash. @param file as the shell is to read it, quoted */
export function noteUnlessHash(file: string, sha256: string, note: string): string[] {
  return [`if [ "$(sha256 <${file})" != ${scriptQuote(sha256)} ]; then`, `  say ${scriptQuote(note)}`, 'fi'];
}

/** Shell lines that convert the base model as bench does, in a folder with a copy of it. */
export function conversionLines({ conversion, model }: Reproduction): string[] {
  if (conversion === null) return [];
  const { args, record } = conversion;
  const other = 'note: this variant has other bytes than the one that was measured';
  const check = record === null ? [] : noteUnlessHash('"$VARIANT"', record.sha256, other);
  if (args === null) {
    return [
      `[ -r "\${VARIANT-}" ] || die 2 'how the model was converted is not known: name the result, VARIANT=/path/to/variant.onnx'`,
      ...check,
    ];
  }
  return [
    'if [ -n "${VARIANT-}" ]; then',
    `  [ -r "$VARIANT" ] || die 2 'no such variant, or it cannot be read: name another one, or leave VARIANT out'`,
    'else',
    `  VARIANT=${FOLDER}/${VARIANT_FILE}`,
    ...pythonLines(conversion).map((line) => `  ${line}`),
    `  mkdir -p ${FOLDER}`,
    `  cp -- "$MODEL" ${FOLDER}/${BASE_FILE}`,
    ...(model?.external ?? []).flatMap((name) => [
      `  mkdir -p "$(dirname -- ${scriptQuote(`${FOLDER}/${name}`)})"`,
      `  cp -- "$(dirname -- "$MODEL")"/${scriptQuote(name)} ${scriptQuote(`${FOLDER}/${name}`)}`,
    ]),
    ...calibrationLines(conversion).map((line) => `  ${line}`),
    '  (',
    `    cd ${FOLDER}`,
    `    "$PYTHON" ${args.map(scriptQuote).join(' ')}`,
    '  )',
    'fi',
    ...check,
  ];
}

function pythonLines({ record }: ReproConversion): string[] {
  const version = record?.packages['nvidia-modelopt'] ?? null;
  return [
    '[ -n "${PYTHON-}" ] || PYTHON=python3',
    `command -v "$PYTHON" >/dev/null 2>&1 || die 3 'no Python here: name one with ModelOpt, PYTHON=/path/to/python'`,
    'case $PYTHON in',
    '  /*) ;;',
    '  */*) PYTHON=$PWD/$PYTHON ;;',
    'esac',
    `modelopt=$("$PYTHON" -c 'import importlib.metadata as m; print(m.version("nvidia-modelopt"))' 2>/dev/null) || die 3 ${scriptQuote(`this Python has no ModelOpt: pip install 'nvidia-modelopt[onnx]${version === null ? '' : `==${printable(version)}`}', or name another one, PYTHON=/path/to/python`)}`,
    ...(version === null
      ? []
      : [
          `[ "$modelopt" = ${scriptQuote(version)} ] || say ${scriptQuote(`note: another ModelOpt than ${printable(version)}, which made the measured variant`)}`,
        ]),
  ];
}

function calibrationLines({ calibration, drawn, record }: ReproConversion): string[] {
  if (calibration === null) return [];
  const target = `${FOLDER}/${calibrationFile(calibration)}`;
  const sha256 = record?.calibration?.sha256 ?? null;
  const check =
    sha256 === null
      ? []
      : [
          `[ "$(sha256 <${target})" = ${scriptQuote(sha256)} ] || say 'note: other calibration data than those of the measured variant'`,
        ];
  if (calibration.kind === 'random' && drawn !== null) {
    const inputs = JSON.stringify(drawn);
    const { samples, seed } = calibration;
    return [
      `"$PYTHON" - ${seed} ${samples} ${scriptQuote(inputs)} ${target} <<'END_OF_PYTHON'\n${DRAW_CALIBRATION}END_OF_PYTHON`,
      ...check,
    ];
  }
  const why =
    calibration.kind === 'file'
      ? 'the calibration data are not here'
      : 'the calibration data were drawn for the inputs of the model, which was not there when this script was written';
  return [
    ...(calibration.kind === 'file' ? [defaultOf('CALIBRATION', calibration.path)] : []),
    `[ -r "\${CALIBRATION-}" ] || die 2 ${scriptQuote(`${why}: name them, CALIBRATION=/path/to/${calibrationFile(calibration)}`)}`,
    `cp -- "$CALIBRATION" ${target}`,
    ...check,
  ];
}

/**
 * Python without numpy that writes the npz of random calibration data, byte for byte: SEED SAMPLES INPUTS(JSON) TARGET.
 */
export const DRAW_CALIBRATION = String.raw`import json, math, struct, sys, zlib

MASK = 0xFFFFFFFF
state = int(sys.argv[1]) & MASK
samples, inputs, target = int(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4]


def draw():
    global state
    state = (state + 0x6D2B79F5) & MASK
    mixed = ((state ^ (state >> 15)) * (state | 1)) & MASK
    mixed ^= (mixed + (((mixed ^ (mixed >> 7)) * (mixed | 61)) & MASK)) & MASK
    return (mixed ^ (mixed >> 14)) / 2**32


def spread():
    return (draw() + draw() + draw() + draw() - 2) * math.sqrt(3)


def half(value):
    size = abs(value)
    if size < 2**-14:
        return struct.pack("<H", 0x8000 if value < 0 else 0)
    fraction, exponent = math.frexp(size)
    bits = ((exponent + 14) << 10) | math.floor((fraction * 2 - 1) * 1024)
    return struct.pack("<H", (0x8000 if value < 0 else 0) | bits)


def item(descr):
    if descr == "<f4":
        return struct.pack("<f", spread())
    if descr == "<f8":
        return struct.pack("<d", spread())
    if descr == "<f2":
        return half(spread())
    return bytes([0 if draw() < 0.5 else 1]) + bytes(int(descr[2:]) - 1)


def array(descr, shape):
    dims = "(%d,)" % shape[0] if len(shape) == 1 else "(%s)" % ", ".join(map(str, shape))
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, dims)
    text += " " * (-(11 + len(text)) % 64) + "\n"
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("latin-1")
    return head + b"".join(item(descr) for _ in range(math.prod(shape)))


batch = (inputs[0]["shape"] or [1])[0] if inputs else 1
steps = -(-samples // batch)
body, directory = b"", b""
for entry in inputs:
    shape = entry["shape"]
    data = array(entry["descr"], [shape[0] * steps] + shape[1:] if shape else [])
    name = (entry["name"] + ".npy").encode()
    sizes = struct.pack("<IIIHH", zlib.crc32(data), len(data), len(data), len(name), 0)
    made = struct.pack("<HHHHH", 20, 0x800, 0, 0, 0x21) + sizes
    place = struct.pack("<HHHII", 0, 0, 0, 0, len(body))
    directory += b"PK\x01\x02" + struct.pack("<H", 20) + made + place + name
    body += b"PK\x03\x04" + made + name + data
end = struct.pack("<HHHHIIH", 0, 0, len(inputs), len(inputs), len(directory), len(body), 0)
with open(target, "wb") as file:
    file.write(body + directory + b"PK\x05\x06" + end)
`;
