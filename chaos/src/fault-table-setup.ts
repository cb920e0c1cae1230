/** vitest's globalSetup of the project `chaos`: prints and keeps the table of faults at the end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { TestProject } from 'vitest/node';

import { writeFaultTable } from './fault-table.ts';

const TABLE = join(import.meta.dirname, '../results/faults.md');

export default function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-faults-'));
  const records = join(folder, 'records.jsonl');
  project.provide('faultRecords', records);
  return () => {
    const table = writeFaultTable(records, TABLE);
    if (table) console.log(`\n${table}`);
    rmSync(folder, { recursive: true });
  };
}
