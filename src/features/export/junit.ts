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
  const { cells, sweeps } = report;
  const [sweep] = sweeps;
  const cases = cells.map((cell) => ({ cell, kind: kindOf(cell), seconds: secondsOf(cell) }));
  const times = (kind: string) => cases.filter((entry) => entry.kind === kind).length;
  const seconds = cases.reduce((sum, entry) => sum + entry.seconds, 0);
  const shared =
    report.shift?.verdict === 'slower'
      ? [
          `    <testcase classname="trtbench" name="common shift" time="0.000"><failure type="slower" message="${xml(shiftSize(report.shift))}">${xml(`${shiftText(report.shift)}\n`)}</failure></testcase>`,
        ]
      : [];
  const findings = (report.gate?.findings ?? []).map(
    ({ id, state, text }) =>
      `    <testcase classname="trtbench" name="finding ${id.slice(0, 8)}" time="0.000"><properties><property name="new" value="${state === 'new'}"/></properties><failure type="slower" message="${xml(text)}">${xml(`${text}\n`)}</failure></testcase>`,
  );
  const more = shared.length + findings.length;
  const counts = `tests="${cases.length + more}" failures="${times('failure') + more}" errors="${times('error')}" skipped="${times('skipped')}" time="${seconds.toFixed(3)}"`;
  const suite = {
    provenance: sweep.provenance,
    sweep: sweep.sweepId,
    commit: sweep.commit,
    branch: sweep.branch,
    base: report.baseRef,
    tensorrt: sweep.tensorrt,
  };
  const stamp = sweep.startedAt === null ? '' : ` timestamp="${sweep.startedAt.slice(0, 19)}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="trtbench" ${counts}>`,
    `  <testsuite name="${xml(sweep.matrix ?? sweep.name ?? 'trtbench')}" ${counts}${stamp}>`,
    ...properties(suite, '    '),
    ...shared,
    ...findings,
    ...cases.flatMap((entry) => testCase(entry.cell, entry.kind, entry.seconds, report)),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
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
  const values = [...METRIC_IDS, ...harnessMetrics([cell])].map((metric) => [metric, valueOf(cell, metric)]);
  const about = {
    cell: cell.cell.key,
    gpu: environmentOf(cell, environments)?.gpuName ?? null,
    owner: cell.owner,
    ...findingProperties(cell),
    ...Object.fromEntries(values),
  };
  const message = messageOf(cell);
  const text = `${[cell.name, ...detailsOf(cell)].join('\n')}\n`;
  const result: Readonly<Record<Kind, string[]>> = {
    passed: [],
    failure: [`      <failure type="slower" message="${xml(message)}">${xml(text)}</failure>`],
    error: [`      <error type="noResult" message="${xml(message)}">${xml(text)}</error>`],
    skipped: [`      <skipped message="${xml(message)}"/>`],
  };
  return [
    `    <testcase classname="${xml(cell.cell.model)}" name="${xml(cell.name)}" time="${seconds.toFixed(3)}">`,
    ...properties(about, '      '),
    ...result[kind],
    ...(kind === 'passed' ? [`      <system-out>${xml(`${message}\n`)}</system-out>`] : []),
    '    </testcase>',
  ];
}

function findingProperties({ judgement }: ReportedCell) {
  if (judgement.kind !== 'judged' || judgement.findings.length === 0) return {};
  const { findings } = judgement;
  return {
    finding: findings.map(({ id }) => id.slice(0, 8)).join(' '),
    new: String(findings.some(({ state }) => state === 'new')),
  };
}

function secondsOf({ runs }: ReportedCell): number {
  return runs.reduce((sum, { wallS }) => sum + (wallS ?? 0), 0);
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

function properties(values: Readonly<Record<string, string | number | null>>, indent: string): string[] {
  const lines = Object.entries(values).flatMap(([name, value]) =>
    value === null ? [] : [`${indent}  <property name="${name}" value="${xml(String(value))}"/>`],
  );
  return lines.length === 0 ? [] : [`${indent}<properties>`, ...lines, `${indent}</properties>`];
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
