import type { MatrixCell, TwoSidedCells } from '../../matrix/matrix.ts';
import { ENV_AXIS } from '../../records/cell.ts';
import { keyedCell } from '../../records/cell-key.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { UsageError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import type { AbWish } from './wish.ts';

/**
 * @param env what bench was started in
 * @throws UsageError where A would not differ from B, or where nobody could say what A is
 */
export function twoSided(cells: readonly MatrixCell[], wish: AbWish, env: EnvironmentVariables): TwoSidedCells {
  const { isForTrtexec, ...experiment } = wish;
  const before = Object.fromEntries(
    Object.entries(wish.variables).map(([name, value]) => [name, valuesBefore(cells, name, value, env)]),
  );
  const pairs = cells.map((a) => {
    if (a.harness === null && !isForTrtexec) {
      throw new UsageError(
        `${printable(cellLabel(a.cell))} is measured by trtexec, which does not know ${Object.keys(wish.variables).join(', ')}: leave it out with --filter`,
      );
    }
    return { a, b: sideB(a, wish) };
  });
  return {
    cells: pairs.flatMap(({ a, b }) => [{ ...a, side: { pair: a.cell.key, marks: [] } }, b]),
    experiment: { ...experiment, before, pairs: pairs.map(({ a, b }) => ({ a: a.cell.key, b: b.cell.key })) },
  };
}

function sideB(a: MatrixCell, { marks, variables }: AbWish): MatrixCell {
  const onAxes = Object.entries(variables).map(([name, value]) => [`${ENV_AXIS}${name}`, value]);
  return {
    ...a,
    cell: keyedCell({ ...a.cell, axisFlags: { ...a.cell.axisFlags, ...Object.fromEntries(onAxes) } }),
    env: { ...a.env, ...variables },
    side: { pair: a.cell.key, marks },
  };
}

/** What a variable is in A, for the cells together. */
function valuesBefore(
  cells: readonly MatrixCell[],
  name: string,
  value: string,
  env: EnvironmentVariables,
): (string | null)[] {
  const values = cells.map(({ cell, env: onAxis, harness }) => {
    if (typeof onAxis[name] === 'string') {
      throw new UsageError(
        `${printable(cellLabel(cell))}: ${name} stands on an axis of the matrix already: take it away there, or leave such cells out with --filter`,
      );
    }
    const stated = [onAxis, harness?.env ?? {}].find((own) => name in own);
    return stated === undefined ? (env[name] ?? null) : (stated[name] ?? null);
  });
  if (values.includes(value)) {
    throw new UsageError(
      `${name}=${printable(value)} holds already without the experiment, so A would be the same as B: unset it where bench is started, or in the matrix`,
    );
  }
  return [...new Set(values)];
}
