import { MODEL_CHANGED } from '../../../judge/compare/differences.ts';
import type { Tallies, UpgradeCell } from './output.ts';

export function talliesOf(cells: readonly UpgradeCell[]): Tallies {
  const having = (is: (cell: UpgradeCell) => boolean): number => cells.filter(is).length;
  const called = (verdict: UpgradeCell['verdict']): number => having((cell) => cell.verdict === verdict);
  const compared = cells.filter(({ verdict }) => verdict !== 'missing' && verdict !== 'failed');
  return {
    cells: cells.length,
    faster: called('faster'),
    slower: called('slower'),
    same: called('same'),
    unclear: called('unclear'),
    incomparable: called('incomparable'),
    missing: called('missing'),
    buildFailed: having(({ problem }) => problem?.side === 'head' && problem.kind === 'build'),
    runFailed: having(({ problem }) => problem?.side === 'head' && problem.kind !== 'build'),
    recovered: having(({ problem }) => problem?.side === 'base'),
    failedOnBoth: having(({ problem }) => problem?.side === 'both'),
    accuracyMoved: having(({ accuracy }) => accuracy !== null && accuracy.moved !== null),
    accuracyFell: having(({ accuracy }) => accuracy?.moved === 'worse'),
    accuracyUnknown: compared.filter(({ accuracy }) => accuracy === null).length,
    modelChanged: having(({ reasons }) => reasons.includes(MODEL_CHANGED)),
    layersChanged: having(({ layers }) => layers !== null && layers.changed > 0),
    layersUnknown: compared.filter(({ layers }) => layers === null).length,
  };
}
