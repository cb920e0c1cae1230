import { END_CODES, type EndCode, type ShownStatus } from '@millrace/jobs/contract/run-state';
import type { ReactNode } from 'react';

import styles from './run-status.module.css';

export const STATUS_WORDS = {
  scheduled: 'Scheduled',
  queued: 'Queued',
  running: 'Running',
  retrying: 'Retrying',
  succeeded: 'Succeeded',
  failed: 'Failed',
  cancelled: 'Cancelled',
} as const satisfies Record<ShownStatus, string>;

// Each has a shape of its own: colour is never the only difference.
const SHAPES = {
  scheduled: (
    <>
      <circle cx="8" cy="8" r="6.25" />
      <path d="M8 4.5V8l2.25 1.75" />
    </>
  ),
  queued: <circle cx="8" cy="8" r="6.25" strokeDasharray="2.4 2.5" />,
  running: (
    <>
      <circle cx="8" cy="8" r="6.25" />
      <path d="M6.5 5.25v5.5L11 8z" fill="currentColor" />
    </>
  ),
  retrying: <path d="M13.5 3v3.5H10M13.2 6.5A5.75 5.75 0 1 0 13.6 9.5" />,
  succeeded: (
    <>
      <circle cx="8" cy="8" r="6.25" />
      <path d="m5.25 8.25 2 2 3.5-4.25" />
    </>
  ),
  failed: (
    <>
      <circle cx="8" cy="8" r="7" fill="currentColor" stroke="none" />
      <path className={styles.cut} d="m5.5 5.5 5 5m0-5-5 5" />
    </>
  ),
  cancelled: (
    <>
      <circle cx="8" cy="8" r="6.25" />
      <path d="m3.75 12.25 8.5-8.5" />
    </>
  ),
} as const satisfies Record<ShownStatus, ReactNode>;

/** A state: shape, word and colour, which mean the same everywhere. */
export function RunStatus({
  status,
  endCode,
  children,
}: {
  status: ShownStatus;
  endCode: EndCode | null;
  /** A word more about it. */
  children?: ReactNode;
}): ReactNode {
  return (
    <span className={styles.status}>
      <StatusIcon status={status} />
      <span className={styles.word} data-status={status}>
        {STATUS_WORDS[status]}
      </span>
      {endCode && endCode !== 'cancelled' && (
        <span className={styles.why} title={END_CODES[endCode]}>
          {endCode.replaceAll('_', ' ')}
        </span>
      )}
      {children && <span className={styles.why}>{children}</span>}
    </span>
  );
}

export function StatusIcon({ status }: { status: ShownStatus }): ReactNode {
  return (
    <svg className={styles.icon} data-status={status} viewBox="0 0 16 16" aria-hidden="true">
      {SHAPES[status]}
    </svg>
  );
}
