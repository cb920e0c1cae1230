/** What a worker executed and what has become of the runs: $1 worker. */
export const workerExecutions = `
select e.run_id, r.definition, r.state, e.outcome,
       e.error ->> 'name' as error_name, e.error ->> 'message' as error_message
  from millrace.executions e join millrace.runs r on r.id = e.run_id
 where e.worker_id = $1
 order by e.finished_at, e.run_id, e.execution`;

export interface WorkerExecution {
  readonly run_id: string;
  readonly definition: string;
  readonly state: string;
  readonly outcome: string;
  readonly error_name: string | null;
  readonly error_message: string | null;
}
