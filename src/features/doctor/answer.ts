import type { DoctorCheck } from './output.ts';
import type { NoAnswer } from '../../process/ask.ts';

/** A check of one group; nothing to mend and not essential unless it says so. */
export function check(
  group: string,
  id: string,
  title: string,
  state: DoctorCheck['state'],
  evidence: string,
  more: Partial<Pick<DoctorCheck, 'mend' | 'essential'>> = {},
): DoctorCheck {
  return { id, group, title, state, evidence, mend: null, essential: false, ...more };
}

/** What a tool said when it gave no answer, in words. */
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

export function firstLine(text: string): string {
  return text.trim().split('\n')[0]?.trim() ?? '';
}
