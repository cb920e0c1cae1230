import Link from 'next/link';
import type { ReactNode } from 'react';

import { CopyButton } from '../copy-button.tsx';
import styles from './no-runs.module.css';
import { Notice } from './notice.tsx';
import { STATUS_WORDS } from './run-status.tsx';
import { type RunsQuery, runsHref } from './runs-query.ts';

/** A page without runs: why, and where to go. */
export function NoRuns({ query, firstRun }: { query: RunsQuery; firstRun: string }): ReactNode {
  const { state, cursor } = query;
  if (cursor) {
    return (
      <Notice title="Nothing is older">
        <p>These were all the runs there are.</p>
        <Link href={runsHref({ state })} prefetch={false}>
          Back to the newest
        </Link>
      </Notice>
    );
  }
  if (state) {
    return (
      <Notice title={`No ${STATUS_WORDS[state].toLowerCase()} runs`}>
        <p>One that comes into this state appears here by itself.</p>
        <Link href={runsHref({})} prefetch={false}>
          Show all runs
        </Link>
      </Notice>
    );
  }
  return (
    <Notice title="No runs yet">
      <p>
        Trigger the first one from a terminal, with the scheduler’s secret in{' '}
        <code>SCHEDULER_TOKEN</code> (<code>./bin/start</code> prints the command with it filled
        in). The run appears here by itself.
      </p>
      <div className={styles.command}>
        <pre>
          <code>{firstRun}</code>
        </pre>
        <CopyButton text={firstRun} label="Copy the command" />
      </div>
    </Notice>
  );
}
