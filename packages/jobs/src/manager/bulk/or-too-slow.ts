import { JobError } from '../../contract/errors.ts';

/** What finding runs answers; a filter for which it takes too long is refused with what helps. */
export async function orTooSlow<Result>(found: Promise<Result>): Promise<Result> {
  try {
    return await found;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === QUERY_CANCELED)) throw error;
    throw new JobError(
      'invalid_request',
      'filter: finding its runs takes too long; narrow it, for example by definition or time.',
      { cause: error },
    );
  }
}

const QUERY_CANCELED = '57014';
