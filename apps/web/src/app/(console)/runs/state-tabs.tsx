import type { ShownStatus } from '@millrace/jobs/contract/run-state';
import Link from 'next/link';
import type { ReactNode } from 'react';

import { STATUS_WORDS, StatusIcon } from './run-status.tsx';
import { runsHref, SHOWN_STATES } from './runs-query.ts';
import styles from './state-tabs.module.css';

/** The filter by state: links, so that the address says what the list shows. */
export function StateTabs({ current }: { current: ShownStatus | undefined }): ReactNode {
  return (
    <nav aria-label="Filter by state">
      <ul className={styles.tabs}>
        {([undefined, ...SHOWN_STATES] as const).map((state) => (
          <li key={state ?? 'all'}>
            <Link
              className={styles.tab}
              href={runsHref({ state })}
              prefetch={false}
              aria-current={state === current ? 'page' : undefined}
            >
              {state && <StatusIcon status={state} />}
              {state ? STATUS_WORDS[state] : 'All'}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
