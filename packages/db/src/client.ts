import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';

import { type Prisma, PrismaClient } from './generated/client.ts';

/** Prisma's client over the tables of Millrace. */
export type Db = PrismaClient;

/**
 * The client inside `db.$transaction(async (tx) => …)`.
 *
 * @public for the team's own code that takes part in a transaction
 */
export type DbTransaction = Prisma.TransactionClient;

/** The schema that holds all tables of Millrace. */
export const SCHEMA = 'millrace';

/** A client that uses the connections of the pool; the pool stays the caller's to end. */
export function createDb(pool: pg.Pool): Db {
  return new PrismaClient({
    adapter: new PrismaPg(pool, { schema: SCHEMA, disposeExternalPool: false }),
  });
}
