import { listAudit } from '@millrace/jobs/manager/audit/list-audit';
import { abortBulk } from '@millrace/jobs/manager/bulk/abort-bulk';
import { getBulk } from '@millrace/jobs/manager/bulk/get-bulk';
import { listBulk } from '@millrace/jobs/manager/bulk/list-bulk';
import { previewBulk } from '@millrace/jobs/manager/bulk/preview-bulk';
import { startBulk } from '@millrace/jobs/manager/bulk/start-bulk';
import { bulkUpdateDefinitions } from '@millrace/jobs/manager/definitions/bulk-update-definitions';
import { listChanges } from '@millrace/jobs/manager/definitions/list-changes';
import {
  getDefinition,
  listDefinitions,
  listScheduled,
} from '@millrace/jobs/manager/definitions/list-definitions';
import { previewChange } from '@millrace/jobs/manager/definitions/preview-change';
import { resetDefinition } from '@millrace/jobs/manager/definitions/reset-definition';
import { restoreDefinition } from '@millrace/jobs/manager/definitions/restore-definition';
import { runNow } from '@millrace/jobs/manager/definitions/run-now';
import { updateDefinition } from '@millrace/jobs/manager/definitions/update-definition';
import { getQueue, listQueues } from '@millrace/jobs/manager/queues/list-queues';
import { pauseQueue } from '@millrace/jobs/manager/queues/pause-queue';
import { resumeQueue } from '@millrace/jobs/manager/queues/resume-queue';
import { cancelRun } from '@millrace/jobs/manager/runs/cancel-run';
import { countRuns } from '@millrace/jobs/manager/runs/count-runs';
import { getExplanation } from '@millrace/jobs/manager/runs/get-explanation';
import { getRun } from '@millrace/jobs/manager/runs/get-run';
import { listRuns } from '@millrace/jobs/manager/runs/list-runs';
import { readRunLog } from '@millrace/jobs/manager/runs/read-run-log';
import { retryRun } from '@millrace/jobs/manager/runs/retry-run';
import { catchUpSlot } from '@millrace/jobs/manager/schedules/catch-up-slot';
import { listSlots } from '@millrace/jobs/manager/schedules/list-slots';
import { skipSlot } from '@millrace/jobs/manager/schedules/skip-slot';
import { createToken } from '@millrace/jobs/manager/tokens/create-token';
import { listTokens } from '@millrace/jobs/manager/tokens/list-tokens';
import { revokeToken } from '@millrace/jobs/manager/tokens/revoke-token';
import type { ManagerContext, Verb } from '@millrace/jobs/manager/verb';
import { drainWorker } from '@millrace/jobs/manager/workers/drain-worker';
import { listWorkers } from '@millrace/jobs/manager/workers/list-workers';
import type { z } from 'zod';

export type OpsMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** One way to call a verb over HTTP. */
export interface OpsRoute {
  readonly method: OpsMethod;
  /** With `{name}` for the fields of the input that stand in the path. */
  readonly path: string;
  readonly verb: string;
  readonly permission: string;
  readonly input: z.ZodType;
  readonly summary: string;
  readonly status: number;
  call(context: ManagerContext, input: unknown): Promise<unknown>;
}

const DEFINITION = '/ops/jobs/definitions/{name}';
const RUN = '/ops/jobs/runs/{id}';

/** Every address of the operators' API; routing, input, permission and the OpenAPI document come from here. */
export const OPS_ROUTES: readonly OpsRoute[] = [
  on('GET', '/ops/jobs/definitions', listDefinitions, 'List the definitions'),
  on('POST', '/ops/jobs/definitions/bulk', bulkUpdateDefinitions, 'Enable or disable several'),
  on('GET', DEFINITION, getDefinition, 'Get a definition with defaults and what holds'),
  on('PUT', DEFINITION, updateDefinition, 'Change the configuration'),
  on('DELETE', DEFINITION, resetDefinition, 'Go back to what the code says'),
  on('GET', `${DEFINITION}/history`, listChanges, 'List the versions'),
  on('POST', `${DEFINITION}/restore`, restoreDefinition, 'Go back to an earlier version'),
  on('POST', `${DEFINITION}/preview`, previewChange, 'Tell what a change would do'),
  on('POST', `${DEFINITION}/run`, runNow, 'Start a run', 202),
  on('GET', `${DEFINITION}/slots`, listSlots, 'List slots that came and that are to come'),
  on('POST', `${DEFINITION}/slots/{slot}/catch-up`, catchUpSlot, 'Start the run of a slot', 202),
  on('POST', `${DEFINITION}/slots/{slot}/skip`, skipSlot, 'Skip a slot that is to come'),
  on('GET', '/ops/jobs/scheduled', listScheduled, 'List what is scheduled, with its next slots'),
  on('GET', '/ops/jobs/runs', listRuns, 'List runs, newest first'),
  on('GET', '/ops/jobs/runs/counts', countRuns, 'Count runs by state, up to a limit'),
  on('GET', '/ops/jobs/runs/bulk', listBulk, 'List bulk actions'),
  on('POST', '/ops/jobs/runs/bulk', startBulk, 'Retry or cancel every run of a filter', 202),
  on('POST', '/ops/jobs/runs/bulk/preview', previewBulk, 'Count what a bulk action would take'),
  on('GET', '/ops/jobs/runs/bulk/{id}', getBulk, 'Get the progress of a bulk action'),
  on('POST', '/ops/jobs/runs/bulk/{id}/abort', abortBulk, 'Abort a bulk action'),
  on('GET', RUN, getRun, 'Get a run with its executions, without its arguments'),
  on('GET', `${RUN}/explain`, getExplanation, 'Tell why a run is where it is'),
  on('GET', `${RUN}/log`, readRunLog, 'Read what the handler logged'),
  on('POST', `${RUN}/retry`, retryRun, 'Open a failed or cancelled run again'),
  on('POST', `${RUN}/cancel`, cancelRun, 'Cancel a run', 202),
  on('GET', '/ops/queues', listQueues, 'List the queues with depth and health'),
  on('GET', '/ops/queues/{name}', getQueue, 'Get a queue'),
  on('POST', '/ops/queues/{name}/pause', pauseQueue, 'Let nothing more start'),
  on('POST', '/ops/queues/{name}/resume', resumeQueue, 'Let it start again'),
  on('GET', '/ops/workers', listWorkers, 'List the live workers'),
  on('POST', '/ops/workers/{id}/drain', drainWorker, 'Ask a worker to fetch nothing more', 202),
  on('GET', '/ops/audit', listAudit, 'List who did what and why'),
  on('GET', '/ops/tokens', listTokens, 'List the API tokens'),
  on('POST', '/ops/tokens', createToken, 'Create an API token; its secret is told this once', 201),
  on('POST', '/ops/tokens/{id}/revoke', revokeToken, 'End an API token'),
];

function on<Schema extends z.ZodType>(
  method: OpsMethod,
  path: string,
  verb: Verb<Schema, unknown>,
  summary: string,
  status = 200,
): OpsRoute {
  return {
    method,
    path,
    verb: verb.verb,
    permission: verb.permission,
    input: verb.input,
    summary,
    status,
    // The verb itself parses what it is given.
    call: (context, input) => verb(context, input as z.input<Schema>),
  };
}

export interface OpsMatch {
  /** The routes of the path by method; empty: there is no such path. */
  readonly methods: ReadonlyMap<OpsMethod, OpsRoute>;
  readonly params: Readonly<Record<string, string>>;
}

/** The routes of a path, given as its decoded segments. A fixed segment goes before a field. */
export function matchOpsPath(segments: readonly string[]): OpsMatch {
  const fitting = OPS_ROUTES.map((route) => ({ route, params: paramsOf(route.path, segments) }))
    .filter((each) => each.params !== null)
    .toSorted((a, b) => Object.keys(a.params ?? {}).length - Object.keys(b.params ?? {}).length);
  const path = fitting[0]?.route.path;
  const same = fitting.filter(({ route }) => route.path === path);
  return {
    methods: new Map(same.map(({ route }) => [route.method, route])),
    params: fitting[0]?.params ?? {},
  };
}

function paramsOf(path: string, segments: readonly string[]): Record<string, string> | null {
  const pattern = path.split('/').slice(1);
  if (pattern.length !== segments.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] ?? '';
    const field = fieldOf(part);
    if (field !== null) params[field] = segment;
    else if (part !== segment) return null;
  }
  return params;
}

/** The field that stands in this part of a path, or null. */
export function fieldOf(part: string): string | null {
  return /^\{(\w+)\}$/.exec(part)?.[1] ?? null;
}
