import { printable } from '../../text/printable.ts';
import type { ReproConversion, Reproduction } from './reproduction.ts';
import { BASE_FILE, calibrationFile, VARIANT_FILE } from '../../tools/modelopt/conversion-args.ts';
import { DRAW_CALIBRATION } from './draw-calibration.ts';
import { defaultOf, shQuote } from '../../text/sh-quote.ts';

const FOLDER = 'variant';

/** Lines that make the model of the engine from its base, as bench does: in a folder with a copy of its own. */
export function conversionLines({ conversion, model }: Reproduction): string[] {
  if (conversion === null) return [];
  const { args, record } = conversion;
  const check =
    record === null
      ? []
      : [
          `if [ "$(sha256 <"$VARIANT")" != ${shQuote(record.sha256)} ]; then`,
          "  say 'note: this variant has other bytes than the one that was measured'",
          'fi',
        ];
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
      `  mkdir -p "$(dirname -- ${shQuote(`${FOLDER}/${name}`)})"`,
      `  cp -- "$(dirname -- "$MODEL")"/${shQuote(name)} ${shQuote(`${FOLDER}/${name}`)}`,
    ]),
    ...calibrationLines(conversion).map((line) => `  ${line}`),
    '  (',
    `    cd ${FOLDER}`,
    `    "$PYTHON" ${args.map(shQuote).join(' ')}`,
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
    `modelopt=$("$PYTHON" -c 'import importlib.metadata as m; print(m.version("nvidia-modelopt"))' 2>/dev/null) || die 3 ${shQuote(`this Python has no ModelOpt: pip install 'nvidia-modelopt[onnx]${version === null ? '' : `==${printable(version)}`}', or name another one, PYTHON=/path/to/python`)}`,
    ...(version === null
      ? []
      : [
          `[ "$modelopt" = ${shQuote(version)} ] || say ${shQuote(`note: another ModelOpt than ${printable(version)}, which made the measured variant`)}`,
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
          `[ "$(sha256 <${target})" = ${shQuote(sha256)} ] || say 'note: other calibration data than those of the measured variant'`,
        ];
  if (calibration.kind === 'random' && drawn !== null) {
    const inputs = JSON.stringify(drawn);
    const { samples, seed } = calibration;
    return [
      `"$PYTHON" - ${seed} ${samples} ${shQuote(inputs)} ${target} <<'END_OF_PYTHON'\n${DRAW_CALIBRATION}END_OF_PYTHON`,
      ...check,
    ];
  }
  const why =
    calibration.kind === 'file'
      ? 'the calibration data are not here'
      : 'the calibration data were drawn for the inputs of the model, which was not there when this script was written';
  return [
    ...(calibration.kind === 'file' ? [defaultOf('CALIBRATION', calibration.path)] : []),
    `[ -r "\${CALIBRATION-}" ] || die 2 ${shQuote(`${why}: name them, CALIBRATION=/path/to/${calibrationFile(calibration)}`)}`,
    `cp -- "$CALIBRATION" ${target}`,
    ...check,
  ];
}
