import type { RunView } from '@millrace/jobs/manager/runs/run-view';
import { Fragment, type ReactNode } from 'react';

import { formatDuration } from './format-time.ts';
import { Instant } from './instant.tsx';
import { RunId } from './run-id.tsx';
import { RunStatus } from './run-status.tsx';
import styles from './run-table.module.css';

// The roles are the elements' own. They are written out because a narrow screen lays the rows out as
// cards, and browsers take a table whose display is changed for no table.
/* oxlint-disable jsx-a11y/no-redundant-roles, jsx-a11y/no-interactive-element-to-noninteractive-role */

/** The runs of one page, newest first: a table, and on a narrow screen cards. */
export function RunTable({ runs, now }: { runs: readonly RunView[]; now: Date }): ReactNode {
  return (
    <table className={styles.table} role="table">
      <caption className="visually-hidden">Recent runs, newest first</caption>
      <thead role="rowgroup">
        <tr role="row">
          <ColumnHeader name="state">State</ColumnHeader>
          <ColumnHeader name="job">Job</ColumnHeader>
          <ColumnHeader name="id">Run</ColumnHeader>
          <ColumnHeader name="trigger">Trigger</ColumnHeader>
          <ColumnHeader name="queue">Queue</ColumnHeader>
          <ColumnHeader name="attempt">Attempt</ColumnHeader>
          <ColumnHeader name="waited">Waited</ColumnHeader>
          <ColumnHeader name="took">Took</ColumnHeader>
          <ColumnHeader name="enqueued">Enqueued</ColumnHeader>
        </tr>
      </thead>
      <tbody role="rowgroup">
        {runs.map((run) => (
          <RunRow key={run.id} run={run} now={now} />
        ))}
      </tbody>
    </table>
  );
}

function RunRow({ run, now }: { run: RunView; now: Date }): ReactNode {
  return (
    <tr role="row" data-run={run.id}>
      <td role="cell" className={styles.state}>
        <RunStatus status={run.status} endCode={run.endCode}>
          {isPlanned(run) && run.runAt > now && <Instant at={run.runAt} now={now} />}
        </RunStatus>
      </td>
      <th role="rowheader" scope="row" className={styles.job}>
        <DefinitionName name={run.definition} />
      </th>
      <td role="cell" className={styles.id}>
        <RunId id={run.id} />
      </td>
      <td role="cell" className={styles.trigger}>
        {run.trigger}
      </td>
      <td role="cell" className={styles.queue}>
        {run.queue ?? 'inline'}
      </td>
      <td role="cell" className={styles.attempt}>
        {run.attempt}
        <span className={styles.of}> of {run.maxAttempts}</span>
      </td>
      <td role="cell" className={styles.waited}>
        <Length ms={run.waitedMs} />
      </td>
      <td role="cell" className={styles.took}>
        <Length ms={run.tookMs} />
      </td>
      <td role="cell" className={styles.enqueued}>
        <Instant at={run.enqueuedAt} now={now} />
      </td>
    </tr>
  );
}

/** May break behind its separators. */
function DefinitionName({ name }: { name: string }): ReactNode {
  return name.split(/(?<=[._])/).map((part, at) => (
    <Fragment key={at}>
      {at > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}

/** Whether it waits for its time, and not for a worker. */
function isPlanned({ status }: RunView): boolean {
  return status === 'scheduled' || status === 'retrying';
}

function Length({ ms }: { ms: number | null }): ReactNode {
  if (ms === null) {
    return (
      <>
        <span aria-hidden="true" className={styles.none}>
          –
        </span>
        <span className="visually-hidden">not yet</span>
      </>
    );
  }
  return formatDuration(ms);
}

function ColumnHeader({
  name,
  children,
}: {
  name: keyof typeof styles;
  children: string;
}): ReactNode {
  return (
    <th role="columnheader" scope="col" className={styles[name]}>
      {children}
    </th>
  );
}
