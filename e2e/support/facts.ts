/** Where the shared servers are. */
export interface Facts {
  readonly url: string;
  readonly databaseUrl: string;
}

const VARIABLE = 'MILLRACE_E2E';

/** Tests run in processes of their own, which inherit the environment. */
export function publishFacts(facts: Facts): void {
  process.env[VARIABLE] = JSON.stringify(facts);
}

export function readFacts(): Facts {
  return JSON.parse(process.env[VARIABLE] ?? '') as Facts;
}
