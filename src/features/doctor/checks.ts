import type { NoAnswer } from '../../process/ask.ts';
import type { DoctorCheck } from './output.ts';

/** What is found; there is nothing to mend and it is not essential unless it says so. */
export type Judged = Pick<DoctorCheck, 'state' | 'evidence'> & Partial<Pick<DoctorCheck, 'mend' | 'essential'>>;

/** The id of a check, behind that of its group; its title; null where there is nothing to say of it. */
export type CheckRow = readonly [id: string, title: string, judged: Judged | null];

export function checksOf(group: string, prefix: string, rows: readonly CheckRow[]): DoctorCheck[] {
  return rows.flatMap(([id, title, judged]) => {
    if (judged === null) return [];
    const { state, evidence, mend = null, essential = false } = judged;
    return [{ id: `${prefix}.${id}`, group, title, state, evidence, mend, essential }];
  });
}

export function noAnswer(answer: NoAnswer): string {
  switch (answer.kind) {
    case 'missing':
      return 'not found on PATH';
    case 'silent':
      return `gave no answer in ${answer.afterS} s`;
    case 'refused':
      return answer.problem;
  }
}
