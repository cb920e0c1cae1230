/** Where an installation runs. Only `local` and `dev` may have development settings. */
export const APP_ENVS = ['local', 'dev', 'staging', 'production'] as const;
