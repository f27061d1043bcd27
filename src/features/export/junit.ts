import { METRIC_IDS } from '../../records/metric.ts';
import { shiftSize, shiftText } from '../compare/index.ts';
import { harnessMetrics, marksOf, type ReportedSweep, type ReportRow, rowsOf, valueOf } from './reported-sweep.ts';

type Attributes = Readonly<Record<string, string | number | null>>;

type TestCase = ReturnType<typeof caseOf>;

/**
 * JUnit XML with one test case per cell; a cell without a result is an error. Each finding of the gate is a failed case
 * of its own, new or open, and the property `new` distinguishes the two. Between two sides, a slower cell fails, and so
 * does a shared slow-down.
 */
export function junitXml(report: ReportedSweep): string {
  const { baseRef, gate, shift, sweeps } = report;
  const [{ branch, commit, matrix, name, provenance, startedAt, sweepId: sweep, tensorrt }] = sweeps;
  const failure = { kind: 'failure', classname: 'trtbench', seconds: 0 } as const;
  const shared = { ...failure, name: 'common shift', about: {} };
  const cases: readonly TestCase[] = [
    ...(shift?.verdict === 'slower' ? [{ ...shared, message: shiftSize(shift), text: shiftText(shift) }] : []),
    ...(gate?.findings ?? []).map(({ id, state, text }) => {
      const about = { new: String(state === 'new') };
      return { ...failure, name: `finding ${id.slice(0, 8)}`, about, message: text, text };
    }),
    ...rowsOf(report).map(caseOf),
  ];
  const times = (kind: TestCase['kind']) => cases.filter((one) => one.kind === kind).length;
  const counts = {
    tests: cases.length,
    failures: times('failure'),
    errors: times('error'),
    skipped: times('skipped'),
    time: cases.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(3),
  };
  const suite = { name: matrix ?? name ?? 'trtbench', ...counts, timestamp: startedAt?.slice(0, 19) ?? null };
  const about = properties({ provenance, sweep, commit, branch, base: baseRef, tensorrt });
  const suites = element('testsuite', suite, [...about, ...cases.flatMap(caseLines)]);
  const all = element('testsuites', { name: 'trtbench', ...counts }, suites);
  return `${['<?xml version="1.0" encoding="UTF-8"?>', ...all].join('\n')}\n`;
}

const KINDS: Record<string, 'error' | 'skipped'> = { failed: 'error', missing: 'skipped', incomparable: 'skipped' };

function caseOf(row: ReportRow) {
  const { cause, cell, findings, gpu, kind, message, name, owner, runs } = row;
  const why = cause === null ? '' : `likeliest cause: ${cause.title} (${cause.certainty})`;
  const metrics = [...METRIC_IDS, ...harnessMetrics([row])];
  const about: Attributes = {
    cell: cell.key,
    gpu,
    owner,
    finding: findings.map(({ id }) => id.slice(0, 8)).join(' ') || null,
    new: findings.length === 0 ? null : String(findings.some(({ state }) => state === 'new')),
    ...Object.fromEntries(metrics.map((metric) => [metric, valueOf(row, metric)])),
  };
  const seconds = runs.reduce((sum, { wallS }) => sum + (wallS ?? 0), 0);
  const text = [name, why, row.reasonsText].filter((line) => line !== '').join('\n');
  const marks = marksOf(row);
  const usual = KINDS[row.status] ?? (marks === '' ? 'passed' : 'skipped');
  const result = kind === 'compared' && row.isRegression ? 'failure' : usual;
  const says = result === 'skipped' && marks !== '' ? marks : message;
  return { kind: result, classname: cell.model, name, seconds, about, message: says, text } as const;
}

function caseLines({ about, classname, kind, message, name, seconds, text }: TestCase): string[] {
  const result = {
    passed: () => element('system-out', {}, `${message}\n`),
    failure: () => element('failure', { type: 'regression', message }, `${text}\n`),
    error: () => element('error', { type: 'noResult', message }, `${text}\n`),
    skipped: () => element('skipped', { message }),
  }[kind]();
  return element('testcase', { classname, name, time: seconds.toFixed(3) }, [...properties(about), ...result]);
}

/**
 * Lines of an element; omits attributes that are null.
 * @param content a text, or lines of elements; without either, the element is empty
 */
function element(name: string, attributes: Attributes, content: string | readonly string[] = []): string[] {
  const stated = Object.entries(attributes).filter(([, value]) => value !== null);
  const start = [name, ...stated.map(([attribute, value]) => `${attribute}="${xml(String(value))}"`)].join(' ');
  if (content.length === 0) return [`<${start}/>`];
  if (typeof content === 'string') return [`<${start}>${xml(content)}</${name}>`];
  return [`<${start}>`, ...content.map((line) => `  ${line}`), `</${name}>`];
}

function properties(values: Attributes): string[] {
  const known = Object.entries(values).filter(([, value]) => value !== null);
  const lines = known.flatMap(([name, value]) => element('property', { name, value }));
  return lines.length === 0 ? [] : element('properties', {}, lines);
}

/** Escapes text for tags and attributes. Characters that XML 1.0 cannot hold become U+FFFD. */
function xml(text: string): string {
  const named: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' };
  return (
    text
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex -- XML forbids these characters
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffe\uffff]/g, '\ufffd')
      .replace(/[&<>"'\n\t]/g, (character) => `&${named[character] ?? `#${character.charCodeAt(0)}`};`)
  );
}
