import type { Finding as OneCellFinding } from '../../records/finding.ts';
import type { Finding } from '../../records/gate-finding.ts';
import { isMetric } from '../../records/metric.ts';

const STATES = {
  suspected: 'open',
  confirmed: 'new',
  open: 'open',
  recovered: 'recovered',
  cleared: 'withdrawn',
  machine: 'open',
} as const;
const GATE_STATES = {
  new: 'confirmed',
  open: 'open',
  withdrawn: 'cleared',
  recovered: 'recovered',
  accepted: 'open',
} as const;

/** Findings of a single cell and metric, as the histories of single cells report them. */
export function oneCellFindings(findings: readonly Finding[]): OneCellFinding[] {
  return findings.flatMap(({ cells: [cell], findingId, provenance, branch, matrix, direction, ...rest }) => {
    if (cell === undefined || !isMetric(cell.metric)) return [];
    const { cellKey, changePercent, margin, before, after } = cell;
    const about = { findingId, provenance, branch, matrix, direction, metric: cell.metric, state: STATES[rest.state] };
    const { lastGoodSweepId, firstBadSweepId, reportedSweepId: toldSweepId } = rest;
    return [{ cellKey, changePercent, margin, before, after, ...about, lastGoodSweepId, firstBadSweepId, toldSweepId }];
  });
}

export function gateFinding(finding: OneCellFinding): Finding {
  const { cellKey, metric, changePercent, margin, before, after, state, toldSweepId, ...rest } = finding;
  return {
    ...rest,
    kind: 'change',
    isWarning: false,
    state: GATE_STATES[state],
    group: [],
    confirmedBy: 'history',
    cause: null,
    environmentChanges: [],
    probability: null,
    pairs: null,
    lastBadSweepId: null,
    reportedSweepId: toldSweepId,
    owner: null,
    cells: [{ cellKey, metric, changePercent, ciPercent: null, margin, before, after }],
  };
}
