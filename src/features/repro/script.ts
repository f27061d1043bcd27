import { lockOf } from '../../machine/requests.ts';
import { printable } from '../../text/printable.ts';
import type { ReproCommand, ReproFile, Reproduction } from './reproduction.ts';
import { conversionLines, noteUnlessHash } from './conversion-script.ts';
import { defaultOf, scriptQuote } from '../../text/shell-quote.ts';

/** Variables of the script; the environment may override each. */
const VARIABLES: Readonly<Record<ReproFile, string>> = {
  trtexec: 'TRTEXEC',
  model: 'MODEL',
  variant: 'VARIANT',
  engine: 'ENGINE',
  timingCache: 'TIMING_CACHE',
};

export function scriptText(sections: readonly (readonly string[])[]): string {
  const texts = sections.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'));
  return `${texts.join('\n\n')}\n`;
}

/**
 * A POSIX shell script that builds and runs with trtexec alone. Untrusted values are quoted; comments hold one line of
 * printable text each.
 */
export function reproScript(repro: Reproduction): string {
  const { run } = repro;
  return scriptText([
    [...titleLines(repro), ...TRTEXEC_HELP],
    [...HELPERS, ...HASHES],
    variableLines(repro),
    [`command -v "$TRTEXEC" >/dev/null 2>&1 || die 3 'no trtexec here: name it, TRTEXEC=/path/to/trtexec'`],
    inputLines(repro),
    unlessSkipped(modelLines(repro), repro),
    // Up to here, a message that ends the script is its only output.
    programLines(repro),
    environmentLines(repro),
    clockLines(repro.clockPolicy),
    buildLines(repro),
    run === null ? [] : runLines(run, repro),
  ]);
}

export const HELPERS = [
  'set -eu',
  '',
  `say() { printf 'repro: %s\\n' "$1" >&2; }`,
  'die() {',
  '  say "$2"',
  '  exit "$1"',
  '}',
];

const HASHES = [
  'if command -v sha256sum >/dev/null 2>&1; then',
  '  sha256() { sha256sum | cut -c 1-64; }',
  'elif command -v shasum >/dev/null 2>&1; then',
  '  sha256() { shasum -a 256 | cut -c 1-64; }',
  'else',
  "  die 3 'neither sha256sum nor shasum is here: hashes cannot be checked'",
  'fi',
];

export function titleLines({ git, label, provenance, role, runId, source, startedAt, toolVersion }: Reproduction) {
  const commit =
    git.commit === null ? 'no commit known' : `commit ${git.commit}${git.dirty === true ? ', not clean' : ''}`;
  const provenanceText = source === 'recorder' ? ', as its recorder ran it' : '';
  return [
    '#!/bin/sh',
    `# ${printable(label)}`,
    `# ${role} run ${printable(runId)}, ${printable(provenance)}${provenanceText}, ${printable(startedAt ?? 'at an unknown time')}`,
    `# ${printable(commit)}; written by bench ${printable(toolVersion)}`,
    '#',
  ];
}

const TRTEXEC_HELP = [
  '# It needs trtexec and leaves its files in the current folder. What can be set from outside:',
  '#   TRTEXEC, MODEL, ENGINE, TIMING_CACHE   other programs and files',
  '#   ANY_MODEL=1     a model with another hash will do',
  '#   SKIP_BUILD=1    ENGINE is loaded as it is',
  '#   LOCK_CLOCKS=1   the clocks are locked as they were (needs root); GPU chooses the card',
];

function variableLines({ build, conversion, run, model }: Reproduction): string[] {
  const names = new Map<ReproFile, string>([['trtexec', 'trtexec']]);
  // What a variant is made of is in no command line of trtexec.
  if (conversion !== null && model !== null) names.set('model', model.path);
  for (const word of [...(build?.words ?? []), ...(run?.words ?? [])]) {
    if (word.kind === 'file' && word.file !== 'variant' && !names.has(word.file)) names.set(word.file, word.name);
  }
  return [...names].map(([file, name]) => defaultOf(VARIABLES[file], name));
}

function programLines({ trtexec }: Reproduction): string[] {
  if (trtexec === null || trtexec.sha256 === null) return [];
  const other = 'note: this trtexec has other bytes than the one that was measured';
  return noteUnlessHash('"$(command -v "$TRTEXEC")"', trtexec.sha256, other);
}

export function environmentLines({ env }: Reproduction): string[] {
  return Object.entries(env).flatMap(([name, value]) => [
    `if [ "\${${name}+set}" = set ]; then`,
    `  [ "$${name}" = ${scriptQuote(value)} ] || say ${scriptQuote(`note: ${name} is set to something else here, and stays`)}`,
    'else',
    `  ${name}=${scriptQuote(value)}`,
    `  export ${name}`,
    'fi',
  ]);
}

function inputLines({ inputs }: Reproduction): string[] {
  return inputs.flatMap(({ path, sha256 }) => {
    const file = scriptQuote(path);
    const missing = scriptQuote(`${printable(path)}: no such input, or it cannot be read`);
    const readable = `[ -r ${file} ] || die 2 ${missing}`;
    if (sha256 === null) return [readable];
    const other = scriptQuote(`${printable(path)}: not the input that was measured (other SHA-256)`);
    return [readable, `[ "$(sha256 <${file})" = ${scriptQuote(sha256)} ] || die 2 ${other}`];
  });
}

function modelLines({ build, conversion, model, run }: Reproduction): string[] {
  const words = [...(build?.words ?? []), ...(run?.words ?? [])];
  const isNamed = words.some((word) => word.kind === 'file' && word.file === 'model');
  if (model === null || !(isNamed || (conversion?.args ?? null) !== null)) return [];
  const readable = `[ -r "$MODEL" ] || die 2 'no such model, or it cannot be read: name it, MODEL=/path/to/model.onnx'`;
  const { external, sha256 } = model;
  if (sha256 === null) {
    return [readable, "say 'note: the hash of the model that was measured is not known'"];
  }
  const externalData = (external ?? []).flatMap((name) => [
    // As bench hashes a model: the file, then each name between zero bytes with its data.
    `  printf '\\0%s\\0' ${scriptQuote(name)}`,
    `  cat <"$(dirname -- "$MODEL")"/${scriptQuote(name)}`,
  ]);
  const hint = external === null ? ' (if it has external data, its hash cannot be checked here)' : '';
  return [
    readable,
    `wanted_sha256=${scriptQuote(sha256)}`,
    'model_sha256=$({',
    '  cat <"$MODEL"',
    ...externalData,
    '} | sha256)',
    'if [ "$model_sha256" != "$wanted_sha256" ]; then',
    `  [ "\${ANY_MODEL:-0}" = 1 ] || die 2 "$MODEL is not the model that was measured: SHA-256 $model_sha256 instead of $wanted_sha256${hint}; ANY_MODEL=1 takes it"`,
    "  say 'note: another model than the one that was measured'",
    'fi',
  ];
}

export function clockLines(policy: string | null): string[] {
  const lock = lockOf(policy);
  if (lock === null) {
    const why = policy === null ? 'nobody knows how they were' : 'they floated in the run';
    return [
      `[ "\${LOCK_CLOCKS:-0}" != 1 ] || die 2 ${scriptQuote(`LOCK_CLOCKS: the clocks cannot be locked as they were, ${why}`)}`,
    ];
  }
  const bounds = clockBounds(lock);
  if (bounds === null) return [`say ${scriptQuote(`note: clocks were ${printable(lock)}`)}`];
  return [
    'if [ "${LOCK_CLOCKS:-0}" = 1 ]; then',
    '  GPU=${GPU:-0}',
    "  command -v nvidia-smi >/dev/null 2>&1 || die 3 'LOCK_CLOCKS: no nvidia-smi here'",
    `  trap 'nvidia-smi -i "$GPU" -rgc >&2' EXIT`,
    "  trap 'exit 129' HUP",
    "  trap 'exit 130' INT",
    "  trap 'exit 143' TERM",
    // Exits 0 even where the card does not support it: its words count.
    `  locked=$(nvidia-smi -i "$GPU" -lgc ${bounds} 2>&1) || die 3 "LOCK_CLOCKS: $locked"`,
    '  case $locked in',
    `    *'clocks set to'*) say "$locked" ;;`,
    '    *) die 3 "LOCK_CLOCKS: $locked" ;;',
    '  esac',
    'else',
    `  say ${scriptQuote(`note: the clocks were ${printable(lock)}: LOCK_CLOCKS=1 locks them so`)}`,
    'fi',
  ];
}

/** For `nvidia-smi -lgc`; null for other text. */
export function clockBounds(lock: string): string | null {
  if (lock === 'locked base') return 'tdp,tdp';
  const mhz = /^locked (\d{2,5}) MHz$/.exec(lock)?.[1];
  return mhz === undefined ? null : `${mhz},${mhz}`;
}

const OTHER_ENGINE = 'note: not the very engine that was measured: kernels may differ by the luck of the build';

/** Builds the engine from the verified model, converted where needed. */
function buildLines(repro: Reproduction): string[] {
  const { build, engine, role } = repro;
  if (build === null) return conversionLines(repro);
  const hasTimingCache = build.words.some((word) => word.kind === 'file' && word.file === 'timingCache');
  const cacheNote = `[ ! -e "$TIMING_CACHE" ] || say "note: the timing cache $TIMING_CACHE is there and is used: remove it to build from nothing"`;
  const lines = [...conversionLines(repro), ...(hasTimingCache ? [cacheNote] : []), ...commandLines(build)];
  if (engine.sha256 === null || role === 'build') return unlessSkipped(lines, repro);
  return [...unlessSkipped(lines, repro), ...noteUnlessHash('"$ENGINE"', engine.sha256, OTHER_ENGINE)];
}

/** Makes a separate build, with its needs, optional. */
function unlessSkipped(lines: readonly string[], { build, role }: Reproduction): string[] {
  if (build === null || role === 'build' || lines.length === 0) return [...lines];
  return ['if [ "${SKIP_BUILD:-0}" != 1 ]; then', ...lines.map((line) => `  ${line}`), 'fi'];
}

function runLines(run: ReproCommand, { axisEnv, engine }: Reproduction): string[] {
  const given =
    engine.isGiven && engine.sha256 !== null
      ? [
          `[ -r "$ENGINE" ] || die 2 'no such engine, or it cannot be read: name it, ENGINE=/path/to/engine.plan'`,
          `[ "$(sha256 <"$ENGINE")" = ${scriptQuote(engine.sha256)} ] || [ "\${ANY_MODEL:-0}" = 1 ] || die 2 'not the engine that was measured (other SHA-256); ANY_MODEL=1 takes it'`,
        ]
      : [];
  return [...given, ...settingLines(axisEnv), ...commandLines(run)];
}

/** The matrix's value wins over the environment. */
export function settingLines(variables: Readonly<Record<string, string | null>>): string[] {
  return Object.entries(variables).flatMap(([name, value]) =>
    value === null ? [`unset ${name}`] : [`${name}=${scriptQuote(value)}`, `export ${name}`],
  );
}

function commandLines({ words }: ReproCommand): string[] {
  return argumentLines(
    words.map((word) =>
      word.kind === 'text'
        ? scriptQuote(word.text)
        : `${scriptQuote(word.head).replace(/^''$/, '')}"$${VARIABLES[word.file]}"`,
    ),
  );
}

/** Already quoted, one a line. */
export function argumentLines(quoted: readonly string[]): string[] {
  return quoted.map((text, place) => {
    const indent = place === 0 ? '' : '  ';
    return `${indent}${text}${place === quoted.length - 1 ? '' : ' \\'}`;
  });
}
