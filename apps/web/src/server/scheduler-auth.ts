import { createHash, timingSafeEqual } from 'node:crypto';

/** Which of the two configured secrets a request carries, or why it is refused. */
export type SchedulerCredential = 'current' | 'previous' | 'missing' | 'wrong';

export interface SchedulerSecrets {
  readonly current: string | undefined;
  readonly previous: string | undefined;
}

/**
 * Compares an `Authorization` header with both secrets. Both comparisons always take place, over
 * digests of equal length and in constant time, so that the time tells neither secret apart.
 */
export function checkSchedulerCredential(
  authorization: string | null,
  { current, previous }: SchedulerSecrets,
): SchedulerCredential {
  const given = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  const isCurrent = equal(given, current);
  const isPrevious = equal(given, previous);
  if (given === undefined) return authorization === null ? 'missing' : 'wrong';
  if (isCurrent) return 'current';
  return isPrevious ? 'previous' : 'wrong';
}

function equal(given: string | undefined, secret: string | undefined): boolean {
  const same = timingSafeEqual(digest(given ?? ''), digest(secret ?? ''));
  return same && given !== undefined && secret !== undefined;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
