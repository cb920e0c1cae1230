import type { ReactNode } from 'react';

import styles from './not-found.module.css';

export default function NotFound(): ReactNode {
  return (
    <main className={styles.page}>
      <h1>There is nothing here</h1>
      <p>Check the address.</p>
    </main>
  );
}
