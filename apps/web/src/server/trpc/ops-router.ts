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
import { drainWorker } from '@millrace/jobs/manager/workers/drain-worker';
import { listWorkers } from '@millrace/jobs/manager/workers/list-workers';

import { mutation, query, router } from './ops-procedures.ts';

/** Every verb as a typed procedure, by noun. */
export const opsRouter = router({
  definitions: router({
    list: query(listDefinitions),
    get: query(getDefinition),
    history: query(listChanges),
    preview: query(previewChange),
    update: mutation(updateDefinition),
    reset: mutation(resetDefinition),
    restore: mutation(restoreDefinition),
    bulkUpdate: mutation(bulkUpdateDefinitions),
    runNow: mutation(runNow),
  }),
  schedules: router({
    list: query(listScheduled),
    slots: query(listSlots),
    catchUp: mutation(catchUpSlot),
    skip: mutation(skipSlot),
  }),
  runs: router({
    list: query(listRuns),
    counts: query(countRuns),
    get: query(getRun),
    explain: query(getExplanation),
    log: query(readRunLog),
    retry: mutation(retryRun),
    cancel: mutation(cancelRun),
  }),
  bulk: router({
    list: query(listBulk),
    get: query(getBulk),
    preview: query(previewBulk),
    start: mutation(startBulk),
    abort: mutation(abortBulk),
  }),
  queues: router({
    list: query(listQueues),
    get: query(getQueue),
    pause: mutation(pauseQueue),
    resume: mutation(resumeQueue),
  }),
  workers: router({ list: query(listWorkers), drain: mutation(drainWorker) }),
  audit: router({ list: query(listAudit) }),
  admin: router({
    tokens: query(listTokens),
    createToken: mutation(createToken),
    revokeToken: mutation(revokeToken),
  }),
});
export type OpsRouter = typeof opsRouter;
