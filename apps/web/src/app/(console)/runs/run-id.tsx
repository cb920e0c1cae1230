import type { ReactNode } from 'react';

import { CopyButton } from '../copy-button.tsx';
import styles from './run-id.module.css';

const TAIL = 12;

/**
 * The id of a run. It begins with its time, which all recent ones share: where space is short the end
 * tells them apart, and the whole id is still there to copy and to be read out.
 */
export function RunId({ id }: { id: string }): ReactNode {
  return (
    <span className={styles.id}>
      <code title={id}>
        <span className={styles.head}>{id.slice(0, -TAIL)}</span>
        <span className={styles.cut} aria-hidden="true">
          …
        </span>
        {id.slice(-TAIL)}
      </code>
      <CopyButton text={id} label={`Copy run id ${id}`} />
    </span>
  );
}
