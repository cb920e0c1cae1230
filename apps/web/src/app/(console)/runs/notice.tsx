import type { ReactNode } from 'react';

import styles from './notice.module.css';

/** Stands where the list would: what is the matter, and what to do next. */
export function Notice({
  title,
  alert = false,
  children,
}: {
  title: string;
  alert?: boolean;
  children: ReactNode;
}): ReactNode {
  return (
    <section className={styles.notice} data-alert={alert} role={alert ? 'alert' : undefined}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}
