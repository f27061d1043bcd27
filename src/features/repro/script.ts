import { UsageError } from '../../errors.ts';
import { lockOf } from '../../machine/requests.ts';
import { PLACEHOLDERS } from '../../records/plan.ts';
import { printable } from '../../text/printable.ts';
import { defaultOf, scriptQuote, shellLine } from '../../text/shell-quote.ts';
import { localWords } from './gather.ts';
import type { ReproOutput } from './output.ts';

/**
 * A POSIX shell script that builds and runs with trtexec alone, or that starts another harness as bench did. Untrusted
 * values are quoted; comments hold one line of printable text each.
 * @throws UsageError when no process is known that could be started again
 */
export function reproScript(repro: ReproOutput): string {
  const { build, commandLine, harness, run, runId, start } = repro;
  const why =
    commandLine !== null
      ? 'its log joins the arguments without quotes'
      : build === null && run === null
        ? 'its command line is not known'
        : harness !== null && start === null
          ? `no plan in this store says how ${printable(harness)} was started`
          : null;
  if (why !== null) throw new UsageError(`run ${runId.slice(0, 8)}: ${why}, so that no script can repeat it`);
  const sections = start === null ? trtexecSections(repro) : harnessSections(repro, start);
  const texts = sections.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
  return `${texts.join('\n\n')}\n`;
}

const HELPERS = [
  `set -eu

say() { printf 'repro: %s\\n' "$1" >&2; }
die() {
  say "$2"
  exit "$1"
}
sha256() { sha256sum | cut -c 1-64; }
has() { [ "$(sha256 <"$1")" = "$2" ]; }
lock_clocks() {
  [ -n "\${GPU-}" ] || GPU=0
  trap 'nvidia-smi -i "$GPU" -rgc >&2' EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  # Exits 0 even where the card does not support it: its words count.
  locked=$(nvidia-smi -i "$GPU" -lgc "$1" 2>&1) || die 3 "LOCK_CLOCKS: $locked"
  case $locked in
    *'clocks set to'*) say "$locked" ;;
    *) die 3 "LOCK_CLOCKS: $locked" ;;
  esac
}`,
];
const ANY_MODEL = '[ "${ANY_MODEL:-0}" = 1 ]';
const CLOCKS_USAGE = '#   LOCK_CLOCKS=1   the clocks are locked as they were (needs root); GPU chooses the card';

function trtexecSections(repro: ReproOutput): string[][] {
  const { build, engine, inputs, role, run, trtexec } = repro;
  const isBuild = role === 'build' || build === null;
  const unlessSkipped = (lines: readonly string[]): string[] =>
    isBuild || lines.length === 0 ? [...lines] : ['if [ "${SKIP_BUILD:-0}" != 1 ]; then', ...indented(lines), 'fi'];
  const otherEngine = engine.isGiven
    ? `${ANY_MODEL} || die 2 'not the engine that was measured (other SHA-256); ANY_MODEL=1 accepts it'`
    : saying('not the measured engine: kernels may differ by build luck');
  // The environment may name other files.
  const words = [build, run].flatMap((command) => localWords(command?.argv ?? [], repro));
  const named = words.flatMap(({ text, variable }) => (variable === null ? [] : [[variable, text] as const]));
  const names = new Map([['TRTEXEC', 'trtexec'], ...named]);
  names.delete('VARIANT');
  return [
    [
      ...titleLines(repro),
      '# It needs trtexec and leaves its files in the current folder. Variables that it reads:',
      '#   TRTEXEC, MODEL, VARIANT, ENGINE, TIMING_CACHE   other programs and files',
      '#   ANY_MODEL=1     accept a model with another hash',
      '#   SKIP_BUILD=1    load ENGINE without building it',
      CLOCKS_USAGE,
    ],
    HELPERS,
    [...names].map(([variable, name]) => defaultOf(variable, name)),
    [`command -v "$TRTEXEC" >/dev/null 2>&1 || die 3 'trtexec not found: set TRTEXEC=/path/to/trtexec'`],
    inputs.flatMap(({ path, sha256 }) => {
      const name = printable(path);
      const other = `die 2 ${scriptQuote(`${name}: not the input that was measured (other SHA-256)`)}`;
      return [needed(scriptQuote(path), `${name}: input not found`), ...orElse(scriptQuote(path), sha256, other)];
    }),
    unlessSkipped(modelLines(repro)),
    // Up to here, a message that ends the script is its only output.
    orElse(
      '"$(command -v "$TRTEXEC")"',
      trtexec?.sha256,
      saying('this trtexec differs from the one that was measured'),
    ),
    environmentLines(repro.env),
    clockLines(repro.clockPolicy),
    unlessSkipped(commandLines(build, repro)),
    engine.isGiven && engine.sha256 !== null
      ? [needed('"$ENGINE"', 'engine not found: set ENGINE=/path/to/engine.plan')]
      : [],
    role === 'build' ? [] : orElse('"$ENGINE"', engine.sha256, otherEngine),
    run === null ? [] : [...settingLines(repro.axisEnv), ...commandLines(run, repro)],
  ];
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

function titleLines({ git, label, provenance, role, runId, source, startedAt, toolVersion }: ReproOutput): string[] {
  const commit =
    git.commit === null ? 'no commit known' : `commit ${git.commit}${git.dirty ? ', with uncommitted changes' : ''}`;
  const by = source === 'recorder' ? ', as its recorder ran it' : '';
  const run = `${role} run ${runId}, ${provenance}${by}, ${startedAt ?? 'at an unknown time'}`;
  const lines = [label, run, `${commit}; written by bench ${toolVersion}`];
  return ['#!/bin/sh', ...lines.map((line) => `# ${printable(line)}`), '#'];
}

/** @param file as the shell is to read it, quoted */
function needed(file: string, refusal: string): string {
  return `[ -r ${file} ] || die 2 ${scriptQuote(refusal)}`;
}

/** What is done when a file has another hash, if one is known. @param file as the shell is to read it, quoted */
function orElse(file: string, sha256: string | null | undefined, action: string): string[] {
  return sha256 ? [`has ${file} ${scriptQuote(sha256)} || ${action}`] : [];
}

function saying(note: string): string {
  return `say ${scriptQuote(`note: ${note}`)}`;
}

/** A converted model is not made here: it is named, and how it was made is said. */
function modelLines({ build, conversion, model, run }: ReproOutput): string[] {
  if (conversion !== null) {
    const made = conversion.argv === null ? '' : ` (made by: ${printable(shellLine(conversion.argv))})`;
    const named = `the model was converted: name the result, VARIANT=/path/to/variant.onnx${made}`;
    const other = saying('this variant has other bytes than the one that was measured');
    return [needed('"${VARIANT-}"', named), ...orElse('"$VARIANT"', conversion.record?.sha256, other)];
  }
  const words = [...(build?.argv ?? []), ...(run?.argv ?? [])];
  if (model === null || !words.some((word) => /^--(?:onnx|refitFromOnnx)=/.test(word))) return [];
  const readable = needed('"$MODEL"', 'model not found: set MODEL=/path/to/model.onnx');
  const { external, sha256 } = model;
  if (sha256 === null) return [readable, saying('the hash of the model that was measured is not known')];
  // As bench hashes a model: the file, then each name between zero bytes with its data.
  const externalData = (external ?? []).flatMap((name) => [
    `  printf '\\0%s\\0' ${scriptQuote(name)}`,
    `  cat <"$(dirname -- "$MODEL")"/${scriptQuote(name)}`,
  ]);
  const hint = external === null ? ' (if it has external data, its hash cannot be checked here)' : '';
  return [
    readable,
    'model_sha256=$({',
    '  cat <"$MODEL"',
    ...externalData,
    '} | sha256)',
    `[ "$model_sha256" = ${sha256} ] || ${ANY_MODEL} || die 2 "$MODEL is not the model that was measured: SHA-256 $model_sha256 instead of ${sha256}${hint}; ANY_MODEL=1 accepts it"`,
  ];
}

/** The environment wins over what was stored. */
function environmentLines(env: ReproOutput['env']): string[] {
  return Object.entries(env).flatMap(([name, value]) => [
    `[ -n "\${${name}+set}" ] || ${name}=${scriptQuote(value)}`,
    `export ${name}`,
  ]);
}

function clockLines(policy: string | null): string[] {
  const bounds = clockBounds(policy);
  const isAsked = '[ "${LOCK_CLOCKS:-0}" = 1 ]';
  if (bounds === null) {
    const how = policy === null ? 'their setting is unknown' : `they were ${printable(policy)}`;
    return [`! ${isAsked} || die 2 ${scriptQuote(`LOCK_CLOCKS: the clocks cannot be locked as before: ${how}`)}`];
  }
  const orSay = saying(`the clocks were ${policy}: LOCK_CLOCKS=1 locks them the same way`);
  return [`if ${isAsked}; then lock_clocks ${bounds}; else ${orSay}; fi`];
}

/** For `nvidia-smi -lgc`; null for clocks that were not locked, or nobody knows how. */
export function clockBounds(policy: string | null): string | null {
  const lock = lockOf(policy);
  if (lock === 'locked base') return 'tdp,tdp';
  const mhz = /^locked (\d{2,5}) MHz$/.exec(lock ?? '')?.[1];
  return mhz === undefined ? null : `${mhz},${mhz}`;
}

/** The matrix's value wins over the environment. */
function settingLines(variables: Readonly<Record<string, string | null>>): string[] {
  return Object.entries(variables).flatMap(([name, value]) =>
    value === null ? [`unset ${name}`] : [`${name}=${scriptQuote(value)}`, `export ${name}`],
  );
}

function commandLines(command: ReproOutput['run'], repro: ReproOutput): string[] {
  const words = localWords(command?.argv ?? [], repro).map(({ head, text, variable }) =>
    variable === null ? scriptQuote(head + text) : `${head === '' ? '' : scriptQuote(head)}"$${variable}"`,
  );
  return argumentLines(words);
}

/** Already quoted, one a line. */
function argumentLines(quoted: readonly string[]): string[] {
  return quoted.length === 0 ? [] : [quoted.join(' \\\n  ')];
}

/** A variable that no matrix is likely to set. */
const FOLDER = 'bench_repro_folder';

/** No hash is checked: none is known. */
function harnessSections(repro: ReproOutput, start: NonNullable<ReproOutput['start']>): string[][] {
  const { argv, cwd, env, withheld } = start;
  const program = argv[0] ?? '';
  const inner = [
    ...withheld.map(
      (name) => `[ "\${${name}+set}" = set ] || ${saying(`the matrix sets ${name}; its value is not in this script`)}`,
    ),
    ...settingLines({ ...env, ...repro.axisEnv }),
    `BENCH_RUN_FOLDER=$${FOLDER}`,
    'export BENCH_RUN_FOLDER',
    `command -v ${scriptQuote(program)} >/dev/null 2>&1 || die 3 ${scriptQuote(`${program}: program not found`)}`,
    // The folder of the run, wherever it is in an argument, is that of this run.
    ...argumentLines(
      argv.map((argument) => {
        const parts = argument.split(PLACEHOLDERS.runFolder);
        if (parts.length === 1) return scriptQuote(argument);
        return parts.map((part) => (part === '' ? '' : scriptQuote(part))).join(`"$${FOLDER}"`);
      }),
    ),
  ];
  return [
    [
      ...titleLines(repro),
      '# It needs the program that measures, and what that needs. Variables that it reads:',
      '#   OUT             the folder for its files (default: repro-run in the current folder)',
      '#   WORKPLACE       where it is started (default: where bench started it)',
      CLOCKS_USAGE,
    ],
    HELPERS,
    [
      defaultOf('OUT', 'repro-run'),
      'mkdir -p -- "$OUT"',
      `${FOLDER}=$(cd -- "$OUT" && pwd)`,
      cwd === null ? `[ -n "\${WORKPLACE-}" ] || WORKPLACE=$${FOLDER}` : defaultOf('WORKPLACE', cwd),
      `cd -- "$WORKPLACE" || die 2 'folder not found: set WORKPLACE to the folder to start in'`,
    ],
    environmentLines(repro.env),
    clockLines(repro.clockPolicy),
    // Variables of the matrix are for the program alone.
    ['(', ...indented(inner), ')'],
  ];
}
