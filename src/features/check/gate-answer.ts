import type { Io } from '../../cli/io.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { checkedSweep } from './checked-series.ts';
import type { Standing } from './headline.ts';

/** What `bench check` answers of a sweep, without its cells. */
export interface GateAnswer {
  readonly headline: string;
  readonly standing: Standing;
}

export async function gateAnswer(db: StoreDatabase, sweep: Sweep, io: Pick<Io, 'cwd' | 'env'>): Promise<GateAnswer> {
  const { series, standing } = await checkedSweep(db, sweep, io);
  return { headline: series.headline, standing };
}
