'use client';

import { useRouter } from 'next/navigation';
import { type ReactNode, useEffect, useState, useTransition } from 'react';

import styles from './live-switch.module.css';

const EVERY_MS = 2_000;

/** Keeps the page fresh while it is visible, until it is switched off. */
export function LiveSwitch(): ReactNode {
  const router = useRouter();
  const [live, setLive] = useState(true);
  const [reachable, setReachable] = useState(true);
  const [refreshing, refresh] = useTransition();

  useEffect(() => {
    // The end of a refresh starts the next wait, so that a slow server is never asked twice at once.
    if (!live || refreshing) return;
    let over = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wait = (): void => {
      timer = setTimeout(() => void tick(), EVERY_MS);
    };
    const tick = async (): Promise<void> => {
      clearTimeout(timer);
      if (document.hidden) return;
      // A refresh that finds no server would leave this page for the browser's own error.
      const there = await serverAnswers();
      if (over) return;
      setReachable(there);
      if (there) refresh(() => router.refresh());
      else wait();
    };
    const onVisible = (): void => void tick();
    document.addEventListener('visibilitychange', onVisible);
    wait();
    return () => {
      over = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [live, refreshing, refresh, router]);

  const word = !live ? 'Paused' : reachable ? 'Live' : 'Reconnecting';
  return (
    <button
      type="button"
      role="switch"
      aria-checked={live}
      aria-label="Live updates"
      title={live ? 'Refreshes every 2 seconds. Press to pause.' : 'Press to refresh again.'}
      className={styles.switch}
      data-word={word}
      onClick={() => setLive(!live)}
    >
      <span className={styles.word} aria-live="polite">
        {word}
      </span>
      <span className={styles.track} aria-hidden="true" />
    </button>
  );
}

async function serverAnswers(): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(EVERY_MS);
    const { ok } = await fetch('/healthz', { cache: 'no-store', signal });
    return ok;
  } catch {
    return false;
  }
}
