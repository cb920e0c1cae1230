import Link from 'next/link';
import { notFound } from 'next/navigation';
import type { ReactNode } from 'react';

import { isDevelopment } from '../../env.ts';
import { webServer } from '../../server/jobs.ts';
import styles from './layout.module.css';
import { LiveSwitch } from './live-switch.tsx';

export default function ConsoleLayout({ children }: { children: ReactNode }): ReactNode {
  const { env } = webServer();
  // Each page refuses for itself; this keeps the frame away as well.
  if (!isDevelopment(env)) notFound();
  return (
    <>
      <a className={styles.skip} href="#main">
        Skip to the content
      </a>
      <header className={styles.header}>
        <div className={styles.bar}>
          <Link className={styles.brand} href="/" prefetch={false}>
            <MillWheel />
            Millrace
          </Link>
          <span className={styles.environment}>
            <span className="visually-hidden">Environment: </span>
            {env.APP_ENV}
          </span>
          <LiveSwitch />
        </div>
      </header>
      <main id="main" className={styles.main}>
        {children}
      </main>
    </>
  );
}

function MillWheel(): ReactNode {
  return (
    <svg className={styles.wheel} viewBox="0 0 20 20" aria-hidden="true">
      <circle cx="10" cy="10" r="5" />
      <path d="M10 1v4M10 15v4M1 10h4M15 10h4M3.6 3.6l2.9 2.9M13.5 13.5l2.9 2.9M3.6 16.4l2.9-2.9M13.5 6.5l2.9-2.9" />
    </svg>
  );
}
