import { setTimeout as sleep } from 'node:timers/promises';

import { JobError } from '@millrace/jobs/contract/errors';
import type { RunContext } from '@millrace/jobs/contract/run-context';
import {
  parseIdempotencyKey,
  parseJobId,
  parseSlot,
  parseWaitMs,
} from '@millrace/jobs/contract/scheduler-request';
import { awaitSchedulerJob } from '@millrace/jobs/engine/scheduler/await-scheduler-job';
import { schedulerDefinition } from '@millrace/jobs/engine/scheduler/trigger-job';
import { activeTraceContext } from '@millrace/jobs/engine/telemetry/trace-context';

import { internalRoute, type InternalRequest } from '../../../../server/internal-route.ts';
import { refuseBody } from '../../../../server/refuse-body.ts';

export const dynamic = 'force-dynamic';

const SCHEDULER = { kind: 'scheduler', id: 'scheduler', label: 'scheduler' } as const;
const POLL_AFTER = { 'retry-after': '2' };

/** Triggers the job type that the path names. */
async function trigger({ request, requestId, server, params }: InternalRequest): Promise<Response> {
  await refuseBody(request);
  const definition = schedulerDefinition(server.registry, String(params['id']));
  const { headers } = request;
  const schedulerTrigger = {
    idempotencyKey: parseIdempotencyKey(headers.get('idempotency-key')),
    slot: parseSlot(headers.get('x-scheduled-for'), new Date()),
    context: { requestId, actor: SCHEDULER, ...(activeTraceContext() ?? traceHeaders(headers)) },
  };
  if (definition.form === 'inline') {
    const { answer, replayed } = await server.runInline(definition, schedulerTrigger);
    return Response.json(answer, { headers: replayHeader(replayed) });
  }
  const { job, replayed } = await inTime(server.triggerJob(definition, schedulerTrigger));
  return Response.json(job, {
    status: 202,
    headers: {
      location: `/internal/jobs/${job.jobId}`,
      ...POLL_AFTER,
      ...replayHeader(replayed),
    },
  });
}

/** Tells what became of the job that an earlier POST returned; `?wait=20` holds the answer until its end. */
async function get({ request, server, params }: InternalRequest): Promise<Response> {
  const jobId = parseJobId(String(params['id']));
  const waitMs = parseWaitMs(new URL(request.url).searchParams.get('wait'));
  const job = await awaitSchedulerJob(server.pool, server.waiters, jobId, waitMs);
  return Response.json(job, { headers: job.done ? {} : POLL_AFTER });
}

function replayHeader(replayed: boolean): Record<string, string> {
  return replayed ? { 'idempotency-replayed': 'true' } : {};
}

/** The caller's place in its trace, for a process that does not trace itself; checked when stored. */
function traceHeaders(headers: Headers): Pick<RunContext, 'traceparent' | 'tracestate'> {
  return {
    traceparent: headers.get('traceparent') ?? undefined,
    tracestate: headers.get('tracestate') ?? undefined,
  };
}

/** With some room for a busy process: the caller is promised an answer within 5 s. */
const ANSWER_WITHIN_MS = 4_200;

/** A batch that waits for another may outlast its statement's own limit. */
async function inTime<Result>(result: Promise<Result>): Promise<Result> {
  const late = new AbortController();
  const timeout = sleep(ANSWER_WITHIN_MS, undefined, { signal: late.signal }).then(() => {
    throw new JobError('unavailable', 'The database did not answer in time; try again.');
  });
  try {
    return await Promise.race([result, timeout]);
  } finally {
    timeout.catch(() => undefined);
    late.abort();
  }
}

const route = internalRoute('/internal/jobs/{id}', { GET: get, POST: trigger });
export {
  route as GET,
  route as POST,
  route as PUT,
  route as PATCH,
  route as DELETE,
  route as OPTIONS,
};
