import type { ShownStatus } from '@millrace/jobs/contract/run-state';
import type { RunPage } from '@millrace/jobs/manager/runs/list-runs';
import Link from 'next/link';
import type { ReactNode } from 'react';

import styles from './pager.module.css';
import { type RunsQuery, runsHref } from './runs-query.ts';

/** The ways to the neighbours of a page of runs. */
export function Pager({
  page: { newer, older },
  state,
}: {
  page: RunPage;
  state: ShownStatus | undefined;
}): ReactNode {
  if (!newer && !older) return null;
  return (
    <nav className={styles.pager} aria-label="Pages">
      <Step to={newer && {}} state={state}>
        Newest
      </Step>
      <Step to={newer && { cursor: newer }} state={state}>
        ← Newer
      </Step>
      <Step to={older && { cursor: older }} state={state}>
        Older →
      </Step>
    </nav>
  );
}

function Step({
  to,
  state,
  children,
}: {
  to: RunsQuery | null | '';
  state: ShownStatus | undefined;
  children: string;
}): ReactNode {
  if (!to) {
    return (
      <span className={styles.step} aria-disabled="true">
        {children}
      </span>
    );
  }
  return (
    <Link className={styles.step} href={runsHref({ state, ...to })} prefetch={false}>
      {children}
    </Link>
  );
}
