import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { packageFolder } from '../../cli/store-location.ts';
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

/** Python that writes the npz of random calibration data: SEED SAMPLES INPUTS(JSON) TARGET. */
export function drawCalibration(): string {
  return readFileSync(join(packageFolder(), 'python', 'draw_calibration.py'), 'utf8');
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
      `"$PYTHON" - ${seed} ${samples} ${scriptQuote(inputs)} ${target} <<'END_OF_PYTHON'\n${drawCalibration()}END_OF_PYTHON`,
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
