import { METRIC_IDS } from '../../records/metric.ts';
import { shiftSize, shiftText } from '../compare/index.ts';
import {
  environmentOf,
  harnessMetrics,
  judgementOf,
  messageOf,
  reasonsOf,
  type ReportedCell,
  type ReportedSweep,
  valueOf,
} from './reported-sweep.ts';

type Kind = 'passed' | 'failure' | 'error' | 'skipped';

/**
 * JUnit XML with one test case per cell; a cell without a result is an error. Each finding of the gate is a failed case
 * of its own, new or open, and the property `new` distinguishes the two. Between two sides, a slower cell fails, and so
 * does a shared slow-down.
 */
export function junitXml(report: ReportedSweep): string {
  const { baseRef, cells, gate, shift, sweeps } = report;
  const [{ branch, commit, matrix, name, provenance, startedAt, sweepId: sweep, tensorrt }] = sweeps;
  const isShared = shift?.verdict === 'slower';
  const cases = [
    ...(isShared ? [failure('common shift', {}, shiftSize(shift), shiftText(shift))] : []),
    ...(gate?.findings ?? []).map(({ id, state, text }) =>
      failure(`finding ${id.slice(0, 8)}`, { new: String(state === 'new') }, text, text),
    ),
    ...cells.map((cell) => caseOf(cell, report)),
  ];
  const times = (kind: Kind) => cases.filter((one) => one.kind === kind).length;
  const counts = {
    tests: cases.length,
    failures: times('failure'),
    errors: times('error'),
    skipped: times('skipped'),
    time: cases.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(3),
  };
  const suite = { name: matrix ?? name ?? 'trtbench', ...counts, timestamp: startedAt?.slice(0, 19) ?? null };
  const about = properties({ provenance, sweep, commit, branch, base: baseRef, tensorrt });
  const suites = element('testsuite', suite, [...about, ...cases.flatMap(({ lines }) => lines)]);
  const all = element('testsuites', { name: 'trtbench', ...counts }, suites);
  return `${['<?xml version="1.0" encoding="UTF-8"?>', ...all].join('\n')}\n`;
}

/** A test case without a cell. */
function failure(name: string, about: Attributes, message: string, text: string) {
  return testCase('failure', { classname: 'trtbench', name, seconds: 0 }, about, message, `${text}\n`);
}

function caseOf(cell: ReportedCell, { environments }: ReportedSweep) {
  const { findings, isRegression, kind: judgedBy, status, ...of } = judgementOf(cell);
  const isSkipped = status === 'missing' || status === 'incomparable';
  const resultKind = status === 'failed' ? 'error' : isSkipped ? 'skipped' : 'passed';
  const metrics = [...METRIC_IDS, ...harnessMetrics([cell])];
  const cause = of.cause === null ? '' : `likeliest cause: ${of.cause.title} (${of.cause.certainty})`;
  const details = [cause, reasonsOf(cell)].filter((line) => line !== '');
  const seconds = cell.runs.reduce((sum, { wallS }) => sum + (wallS ?? 0), 0);
  const about = {
    cell: cell.cell.key,
    gpu: environmentOf(cell, environments)?.gpuName ?? null,
    owner: cell.owner,
    finding: findings.map(({ id }) => id.slice(0, 8)).join(' ') || null,
    new: findings.length === 0 ? null : String(findings.some(({ state }) => state === 'new')),
    ...Object.fromEntries(metrics.map((metric) => [metric, valueOf(cell, metric)])),
  };
  return testCase(
    judgedBy === 'compared' && isRegression ? 'failure' : resultKind,
    { classname: cell.cell.model, name: cell.name, seconds },
    about,
    messageOf(cell),
    `${[cell.name, ...details].join('\n')}\n`,
  );
}

function testCase(
  kind: Kind,
  { seconds, ...of }: { readonly classname: string; readonly name: string; readonly seconds: number },
  about: Attributes,
  message: string,
  text: string,
) {
  const result = {
    passed: () => element('system-out', {}, `${message}\n`),
    failure: () => element('failure', { type: 'slower', message }, text),
    error: () => element('error', { type: 'noResult', message }, text),
    skipped: () => element('skipped', { message }),
  }[kind]();
  const lines = element('testcase', { ...of, time: seconds.toFixed(3) }, [...properties(about), ...result]);
  return { kind, seconds, lines };
}

type Attributes = Readonly<Record<string, string | number | null>>;

/**
 * Lines of an element; omits attributes that are null.
 * @param content a text, or lines of elements; without either, the element is empty
 */
function element(name: string, attributes: Attributes, content: string | readonly string[] = []): string[] {
  const stated = Object.entries(attributes).flatMap(([attribute, value]) =>
    value === null ? [] : [` ${attribute}="${xml(String(value))}"`],
  );
  const start = `<${name}${stated.join('')}`;
  if (content.length === 0) return [`${start}/>`];
  if (typeof content === 'string') return [`${start}>${xml(content)}</${name}>`];
  return [`${start}>`, ...content.map((line) => `  ${line}`), `</${name}>`];
}

function properties(values: Attributes): string[] {
  const known = Object.entries(values).filter(([, value]) => value !== null);
  const lines = known.flatMap(([name, value]) => element('property', { name, value }));
  return lines.length === 0 ? [] : element('properties', {}, lines);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\n': '&#10;',
  '\t': '&#9;',
};

/** Escapes text for tags and attributes. Characters that XML 1.0 cannot hold become U+FFFD. */
function xml(text: string): string {
  return (
    text
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex -- XML forbids these characters
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffe\uffff]/g, '\ufffd')
      .replace(/[&<>"'\n\t]/g, (character) => ENTITIES[character] ?? character)
  );
}
