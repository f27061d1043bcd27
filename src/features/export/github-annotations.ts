import { shiftText } from '../compare/index.ts';
import { messageOf } from './junit.ts';
import { type ReportedSweep, statusOf } from './reported-sweep.ts';

/** GitHub shows ten of each kind for a step; all are in the log. */
const LEVELS = { slower: 'error', failed: 'warning' } as const;

/**
 * Workflow commands (docs.github.com, "Workflow commands for GitHub Actions"): a line for each cell that needs a look,
 * and one for a slow-down that they share.
 */
export function githubAnnotations({ cells, shift }: ReportedSweep): string[] {
  const shared = shift?.verdict === 'slower' ? [`::error title=common shift::${data(shiftText(shift))}`] : [];
  const ofCells = cells.flatMap((cell) => {
    const status = statusOf(cell);
    if (status !== 'slower' && status !== 'failed') return [];
    return [`::${LEVELS[status]} title=${property(cell.name)}::${data(messageOf(cell))}`];
  });
  return [...shared, ...ofCells];
}

function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
