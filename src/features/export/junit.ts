import { METRIC_IDS } from '../../records/metric.ts';
import { failureSentences } from '../../records/outcome.ts';
import { verdictText } from '../check/index.ts';
import { shiftSize, shiftText } from '../compare/index.ts';
import { formatNumber, formatPercent } from '../../terminal/numbers.ts';
import {
  environmentOf,
  harnessMetrics,
  isRegression,
  judgedMetric,
  type ReportedCell,
  type ReportedSweep,
  statusOf,
  valueOf,
} from './reported-sweep.ts';

/**
 * A test case per cell: without a result it is an error. What the gate says fails by finding, new or open, in a case of
 * its own; the property `new` distinguishes them. Between two sides a slower cell fails, and a shared slow-down.
 */
export function junitXml(report: ReportedSweep): string {
  const { baseRef, cells, gate, shift, sweeps } = report;
  const [{ branch, commit, matrix, name, provenance, startedAt, sweepId: sweep, tensorrt }] = sweeps;
  const cases = cells.map((cell) => {
    const seconds = cell.runs.reduce((sum, { wallS }) => sum + (wallS ?? 0), 0);
    return { cell, kind: kindOf(cell), seconds };
  });
  const shared =
    shift?.verdict === 'slower' ? [failedCase('common shift', [], shiftSize(shift), shiftText(shift))] : [];
  const findings = (gate?.findings ?? []).map(({ id, state, text }) =>
    failedCase(`finding ${id.slice(0, 8)}`, properties({ new: String(state === 'new') }), text, text),
  );
  const more = [...shared, ...findings].flat();
  const times = (kind: Kind) => cases.filter((one) => one.kind === kind).length;
  const counts = {
    tests: cases.length + shared.length + findings.length,
    failures: times('failure') + shared.length + findings.length,
    errors: times('error'),
    skipped: times('skipped'),
    time: cases.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(3),
  };
  const suite = { name: matrix ?? name ?? 'trtbench', ...counts, timestamp: startedAt?.slice(0, 19) ?? null };
  const lines = element('testsuites', { name: 'trtbench', ...counts }, [
    ...element('testsuite', suite, [
      ...properties({ provenance, sweep, commit, branch, base: baseRef, tensorrt }),
      ...more,
      ...cases.flatMap(({ cell, kind, seconds }) => testCase(cell, kind, seconds, report)),
    ]),
  ]);
  return `${['<?xml version="1.0" encoding="UTF-8"?>', ...lines].join('\n')}\n`;
}

function failedCase(name: string, about: readonly string[], message: string, text: string): string[] {
  const failure = element('failure', { type: 'slower', message }, `${text}\n`);
  return element('testcase', { classname: 'trtbench', name, time: '0.000' }, [...about, ...failure]);
}

type Attributes = Readonly<Record<string, string | number | null>>;

/** Lines, without attributes that are null. @param content a text, or lines of elements; an element alone for none */
function element(name: string, attributes: Attributes, content: string | readonly string[] = []): string[] {
  const stated = Object.entries(attributes).flatMap(([attribute, value]) =>
    value === null ? [] : [` ${attribute}="${xml(String(value))}"`],
  );
  const start = `<${name}${stated.join('')}`;
  if (content.length === 0) return [`${start}/>`];
  if (typeof content === 'string') return [`${start}>${xml(content)}</${name}>`];
  return [`${start}>`, ...content.map((line) => `  ${line}`), `</${name}>`];
}

type Kind = 'passed' | 'failure' | 'error' | 'skipped';

function kindOf(cell: ReportedCell): Kind {
  if (cell.judgement.kind === 'compared' && isRegression(cell)) return 'failure';
  switch (statusOf(cell)) {
    case 'failed':
      return 'error';
    case 'missing':
    case 'incomparable':
      return 'skipped';
    default:
      return 'passed';
  }
}

function testCase(cell: ReportedCell, kind: Kind, seconds: number, { environments }: ReportedSweep): string[] {
  const { judgement } = cell;
  const findings = judgement.kind === 'judged' && judgement.findings.length > 0 ? judgement.findings : null;
  const metrics = [...METRIC_IDS, ...harnessMetrics([cell])];
  const about = {
    cell: cell.cell.key,
    gpu: environmentOf(cell, environments)?.gpuName ?? null,
    owner: cell.owner,
    finding: findings?.map(({ id }) => id.slice(0, 8)).join(' ') ?? null,
    new: findings === null ? null : String(findings.some(({ state }) => state === 'new')),
    ...Object.fromEntries(metrics.map((metric) => [metric, valueOf(cell, metric)])),
  };
  const message = messageOf(cell);
  const text = `${[cell.name, ...detailsOf(cell)].join('\n')}\n`;
  const result = {
    passed: () => element('system-out', {}, `${message}\n`),
    failure: () => element('failure', { type: 'slower', message }, text),
    error: () => element('error', { type: 'noResult', message }, text),
    skipped: () => element('skipped', { message }),
  }[kind]();
  const named = { classname: cell.cell.model, name: cell.name, time: seconds.toFixed(3) };
  return element('testcase', named, [...properties(about), ...result]);
}

export function messageOf(cell: ReportedCell): string {
  const { judgement, metric } = cell;
  const { label, unit } = judgedMetric(cell);
  const word =
    judgement.kind === 'values' ? '' : judgement.kind === 'judged' ? verdictText(judgement) : judgement.verdict;
  if (judgement.kind === 'values' || judgement.head === null || judgement.base === null) {
    const value = valueOf(cell, metric);
    const reasons = reasonsOf(cell);
    if (value === null) return `no result${reasons === '' ? '' : `: ${reasons}`}`;
    const text = `${label} ${formatNumber(value)} ${unit}`;
    return word === '' || word === 'new' ? text : `${word}: ${text}${reasons === '' ? '' : ` (${reasons})`}`;
  }
  const change = formatPercent(judgement.changePercent);
  const levels = `${formatNumber(judgement.base)} → ${formatNumber(judgement.head)} ${unit}`;
  return `${word}: ${label} ${change} (${levels})`;
}

function reasonsOf({ judgement, runs }: ReportedCell): string {
  const judged = judgement.kind === 'values' ? [] : judgement.reasons;
  const own = failureSentences(runs.map(({ outcome }) => outcome));
  const all = [...new Set([...judged, ...own.filter((text) => !judged.some((other) => other.endsWith(text)))])];
  return all.length === 0 && runs.length === 0 ? 'no run' : all.join('; ');
}

function detailsOf(cell: ReportedCell): string[] {
  const { judgement } = cell;
  const lines = cell.owner === null ? [] : [`owner: ${cell.owner}`];
  if (judgement.kind !== 'values' && judgement.ciPercent !== null) {
    lines.push(`95 % interval ${judgement.ciPercent.map((end) => formatPercent(end)).join(' to ')}`);
  }
  if (judgement.kind === 'compared' && judgement.cause !== null) {
    lines.push(`likeliest cause: ${judgement.cause.title} (${judgement.cause.certainty})`);
  }
  if (judgement.kind === 'judged') lines.push(...judgement.findings.map(({ id }) => `finding ${id.slice(0, 8)}`));
  return [...lines, reasonsOf(cell)].filter((line) => line !== '');
}

function properties(values: Attributes): string[] {
  const known = Object.entries(values).filter(([, value]) => value !== null);
  return element(
    'properties',
    {},
    known.flatMap(([name, value]) => element('property', { name, value })),
  );
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

/** Safe between tags and in attributes; characters that XML 1.0 cannot hold become U+FFFD. */
function xml(text: string): string {
  return (
    text
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex -- they are what XML forbids
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffe\uffff]/g, '\ufffd')
      .replace(/[&<>"'\n\t]/g, (character) => ENTITIES[character] ?? character)
  );
}
