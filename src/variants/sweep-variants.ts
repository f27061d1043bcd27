import type { SweepContext } from '../run/sweep-context.ts';
import { problemOf, provideVariant, type VariantState } from './variants.ts';

/** The variants of one sweep: each is asked for once, however many engines need it. */
export class Variants {
  private readonly context: Pick<SweepContext, 'onEvent' | 'plan' | 'variants'>;
  private readonly states = new Map<string, Promise<VariantState>>();

  constructor(context: Pick<SweepContext, 'onEvent' | 'plan' | 'variants'>) {
    this.context = context;
  }

  /** Several lanes may ask at the same time: it is made for the first of them. */
  provide(variantRef: string): Promise<VariantState> {
    const known = this.states.get(variantRef) ?? this.make(variantRef);
    // Whoever waits for it sees the error; it must not end the program before.
    known.catch(() => {});
    this.states.set(variantRef, known);
    return known;
  }

  private async make(variantRef: string): Promise<VariantState> {
    const { onEvent, plan, variants } = this.context;
    const variant = plan.variants.find((planned) => planned.variantRef === variantRef);
    if (variant === undefined || variants === null) {
      throw new Error(`nobody makes the variant ${variantRef}`);
    }
    const state = await provideVariant(variants, variant);
    if (state.kind === 'ready') {
      const { how, record, wallS } = state;
      onEvent({ kind: 'variantReady', variant, how, wallS, converted: record.converted });
    } else {
      const { failure, folder } = state;
      onEvent({ kind: 'variantFailed', variant, problem: problemOf(failure), folder });
    }
    return state;
  }
}
