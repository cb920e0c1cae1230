import type { ReactNode } from 'react';

import { formatInstant, formatRelative } from './format-time.ts';

/** An instant as it lies from now; exact, with its zone, on hover. */
export function Instant({ at, now }: { at: Date; now: Date }): ReactNode {
  return (
    <time dateTime={at.toISOString()} title={formatInstant(at)}>
      {formatRelative(at, now)}
    </time>
  );
}
