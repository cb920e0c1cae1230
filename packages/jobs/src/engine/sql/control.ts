/** The channel by which processes tell each other, through PostgreSQL, what happened: ids only. */
const CHANNEL = 'millrace';

export const listen = `listen ${CHANNEL}`;

/** $1 the message. */
export const notify = `select pg_notify('${CHANNEL}', $1)`;
