/**
 * `ok`; `advice`: works, and could measure more steadily; `warning`: numbers may be wrong; `failed`: does not work;
 * `absent`: is not here.
 */
export const CHECK_STATES = ['ok', 'advice', 'warning', 'failed', 'absent'] as const;

export type CheckState = (typeof CHECK_STATES)[number];

export interface DoctorCheck {
  /** Stable: `trtexec.library`, `gpu0.persistence`. */
  readonly id: string;
  /** What it is listed under. */
  readonly group: string;
  readonly title: string;
  readonly state: CheckState;
  /** What was seen. */
  readonly evidence: string;
  /** The command that mends it; what follows a # is for people. Null when there is nothing to mend. */
  readonly mend: string | null;
  /** Nothing can be measured while this is failed. */
  readonly essential: boolean;
}
