import { setTimeout as sleep } from 'node:timers/promises';

import { JobError } from '@millrace/jobs/contract/errors';
import {
  parseIdempotencyKey,
  parseJobId,
  parseSlot,
  parseWaitMs,
} from '@millrace/jobs/contract/scheduler-request';
import { awaitSchedulerJob } from '@millrace/jobs/engine/scheduler/await-scheduler-job';
import { schedulerDefinition } from '@millrace/jobs/engine/scheduler/trigger-job';

import { internalRoute, type InternalRequest } from '../../../../server/internal-route.ts';
import { refuseBody } from '../../../../server/refuse-body.ts';

export const dynamic = 'force-dynamic';

const POLL_AFTER = { 'retry-after': '2' };

/** Triggers the job type that the path names. */
async function trigger({ request, requestId, server, params }: InternalRequest): Promise<Response> {
  await refuseBody(request);
  const definition = schedulerDefinition(server.registry, String(params['id']));
  const { headers } = request;
  const schedulerTrigger = {
    idempotencyKey: parseIdempotencyKey(headers.get('idempotency-key')),
    slot: parseSlot(headers.get('x-scheduled-for'), new Date()),
    context: {
      requestId,
      ...traceHeader(headers, 'traceparent'),
      ...traceHeader(headers, 'tracestate'),
    },
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

const TRACE_HEADER = /^[\x20-\x7e]{1,512}$/;

function traceHeader(headers: Headers, name: 'traceparent' | 'tracestate'): Record<string, string> {
  const value = headers.get(name);
  return value && TRACE_HEADER.test(value) ? { [name]: value } : {};
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

const route = internalRoute({ GET: get, POST: trigger });
export {
  route as GET,
  route as POST,
  route as PUT,
  route as PATCH,
  route as DELETE,
  route as OPTIONS,
};
