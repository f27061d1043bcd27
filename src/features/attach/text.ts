import type { Attachment } from '../../artefacts/attachment.ts';
import { printable } from '../../text/printable.ts';
import { formatBytes } from '../../terminal/numbers.ts';

export interface AttachReport {
  readonly runId: string;
  readonly attached: readonly Attachment[];
}

export function attachJson({ runId, attached }: AttachReport) {
  return {
    schemaVersion: 1,
    runId,
    attached: attached.map(({ name, kind, sha256, bytes, attachedAt }) => ({ name, kind, sha256, bytes, attachedAt })),
  };
}

export function attachText({ runId, attached }: AttachReport): string[] {
  return attached.map(
    ({ name, bytes, sha256 }) =>
      `run ${runId.slice(0, 8)} has ${printable(name)} (${formatBytes(bytes)}, sha256 ${sha256.slice(0, 12)})`,
  );
}
