'use client';

import { type ReactNode, useEffect, useState } from 'react';

import styles from './copy-button.module.css';

const CONFIRMED_FOR_MS = 1_500;

/** Copies a text. Its label says what, for instance "Copy run id". */
export function CopyButton({ text, label }: { text: string; label: string }): ReactNode {
  const [copied, setCopied] = useState<boolean | null>(null);

  useEffect(() => {
    if (copied === null) return;
    const timer = setTimeout(() => setCopied(null), CONFIRMED_FOR_MS);
    return () => clearTimeout(timer);
  }, [copied]);

  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      setCopied(false); // no permission, or not a secure context
    }
  };

  return (
    <button
      type="button"
      className={styles.copy}
      aria-label={label}
      title={label}
      onClick={() => void copy()}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {copied ? <path d="m3.5 8.5 3 3 6-7" /> : <path d="M6 5.5h7v8H6zM10 5.5v-3H3v8h3" />}
      </svg>
      <output className={styles.told}>
        {copied === true ? 'Copied' : copied === false ? 'Select it to copy' : ''}
      </output>
    </button>
  );
}
