import { randomUUID } from 'node:crypto';

import type { Caller } from '@millrace/jobs/contract/caller';
import { JobError } from '@millrace/jobs/contract/errors';
import { listRuns, type RunPage } from '@millrace/jobs/manager/runs/list-runs';
import type { Metadata } from 'next';
import { headers } from 'next/headers';
import Link from 'next/link';
import { notFound } from 'next/navigation';
import type { ReactNode } from 'react';

import { isDevelopment } from '../../env.ts';
import { webServer } from '../../server/jobs.ts';
import styles from './page.module.css';
import { firstRunCommand } from './runs/first-run-command.ts';
import { NoRuns } from './runs/no-runs.tsx';
import { Notice } from './runs/notice.tsx';
import { Pager } from './runs/pager.tsx';
import { RunTable } from './runs/run-table.tsx';
import { parseRunsQuery, type RunsQuery } from './runs/runs-query.ts';
import { StateTabs } from './runs/state-tabs.tsx';

export const metadata: Metadata = { title: 'Runs' };

/** Recent runs. Nobody signs in yet, so it is served in development only. */
export default async function RunsPage({
  searchParams,
}: {
  searchParams: Promise<Record<string, string | string[] | undefined>>;
}): Promise<ReactNode> {
  if (!isDevelopment(webServer().env)) notFound();
  const query = parseRunsQuery(await searchParams);
  return (
    <>
      <h1 className={styles.title}>Runs</h1>
      <StateTabs current={query?.state} />
      {query ? <Runs query={query} page={await readRuns(query)} /> : <BadAddress />}
    </>
  );
}

/** Until people sign in. */
const ANYBODY: Caller = {
  kind: 'system',
  id: 'console',
  label: 'the console',
  orgId: null,
  permissions: ['ops.jobs.read'],
};

type Reading = RunPage | 'unavailable' | 'bad-address';

async function readRuns(query: RunsQuery): Promise<Reading> {
  const { pool, registry, log } = webServer();
  const context = { pool, registry, actor: ANYBODY, requestId: randomUUID() };
  try {
    const { state, cursor } = query;
    return await listRuns(context, {
      filter: { ...(state && { state }) },
      ...(cursor && { cursor }),
    });
  } catch (error) {
    if (error instanceof JobError && error.status < 500) return 'bad-address';
    log.error({ err: error }, 'the runs could not be read');
    return 'unavailable';
  }
}

async function Runs({ query, page }: { query: RunsQuery; page: Reading }): Promise<ReactNode> {
  if (page === 'unavailable') {
    return (
      <Notice alert title="The runs cannot be read right now">
        <p>
          The database does not answer. The list comes back by itself as soon as it does; the log of
          the web server tells more. Workers go on with what they have begun.
        </p>
      </Notice>
    );
  }
  if (page === 'bad-address') return <BadAddress />;
  if (page.runs.length === 0 && page.older === null)
    return <NoRuns query={query} firstRun={await firstRun()} />;
  return (
    <>
      <RunTable runs={page.runs} now={new Date()} />
      <Pager page={page} state={query.state} />
    </>
  );
}

function BadAddress(): ReactNode {
  return (
    <Notice title="This address names no list of runs">
      <p>Its state or its page is none that exists.</p>
      <Link href="/" prefetch={false}>
        Show all runs
      </Link>
    </Notice>
  );
}

async function firstRun(): Promise<string> {
  const { env, registry } = webServer();
  const host = (await headers()).get('host') ?? 'localhost:3000';
  return firstRunCommand(registry.definitions.values(), `http://${host}`, env.DEV_AUTH !== '1');
}
