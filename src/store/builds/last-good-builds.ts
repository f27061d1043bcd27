import type { BuildId } from '../../records/scalars.ts';
import type { StoreDatabase } from '../file/open.ts';

/**
 * Builds that newer ones are measured against, those that ran last first: of each cell the one that was good before a
 * open finding, and the newest ones; at most two.
 */
export function lastGoodBuilds({ $client }: StoreDatabase): BuildId[] {
  const statement = $client.prepare<[], { buildId: BuildId }>(`
    WITH good(cell_key, sweep_id) AS (
      SELECT c.cell_key, f.last_good_sweep_id FROM findings f JOIN finding_cells c USING (finding_id)
      WHERE f.state = 'open' AND f.last_good_sweep_id IS NOT NULL),
    ran AS (
      SELECT cell_key, provenance, build_id, max(started_at) AS ran_at,
             max((cell_key, sweep_id) IN (SELECT cell_key, sweep_id FROM good)) AS is_good
      FROM runs WHERE role = 'timed' AND outcome = 'measured' AND build_id IS NOT NULL
      GROUP BY cell_key, provenance, build_id),
    placed AS (
      SELECT build_id, ran_at,
             row_number() OVER (PARTITION BY cell_key, provenance ORDER BY is_good DESC, ran_at DESC) AS place
      FROM ran)
    SELECT build_id AS buildId FROM placed WHERE place <= 2 GROUP BY build_id ORDER BY max(ran_at) DESC`);
  return statement.all().map(({ buildId }) => buildId);
}
