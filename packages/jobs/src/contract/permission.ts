/** What a caller may do. One table, used by the server and by buttons alike. */
export const PERMISSIONS = {
  'ops.jobs.read': 'see definitions, runs, queues, workers and the audit',
  'ops.jobs.write': 'change configuration, pause and resume queues, drain workers',
  'ops.jobs.run': 'run now, retry and cancel',
  'ops.admin': 'manage people and tokens',
} as const;
export type Permission = keyof typeof PERMISSIONS;

/** Nobody sees arguments, administrators included. */
export const ROLES = {
  viewer: ['ops.jobs.read'],
  operator: ['ops.jobs.read', 'ops.jobs.write', 'ops.jobs.run'],
  admin: ['ops.jobs.read', 'ops.jobs.write', 'ops.jobs.run', 'ops.admin'],
} as const satisfies Record<string, readonly Permission[]>;
export type Role = keyof typeof ROLES;
