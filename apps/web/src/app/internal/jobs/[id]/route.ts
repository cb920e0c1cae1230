import {
  parseIdempotencyKey,
  parseJobId,
  parseSlot,
} from '@millrace/jobs/contract/scheduler-request';
import { getSchedulerJob } from '@millrace/jobs/engine/scheduler/get-scheduler-job';
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
  const { job, replayed } = await server.triggerJob(definition, schedulerTrigger);
  return Response.json(job, {
    status: 202,
    headers: {
      location: `/internal/jobs/${job.jobId}`,
      ...POLL_AFTER,
      ...replayHeader(replayed),
    },
  });
}

/** Tells what became of the job that an earlier POST returned. */
async function get({ server, params }: InternalRequest): Promise<Response> {
  const job = await getSchedulerJob(server.pool, parseJobId(String(params['id'])));
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

// An inline job may take its 10 s, its abort a grace, a joined call 10 s.
const route = internalRoute({ GET: get, POST: trigger }, { answerWithinMs: 15_000 });
export {
  route as GET,
  route as POST,
  route as PUT,
  route as PATCH,
  route as DELETE,
  route as OPTIONS,
};
