import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { useDatabase } from './testing.ts';

/** PostgreSQL's types of Prisma's: by `@db.…` where a field has one, else by the type itself. */
const COLUMN_TYPES: Readonly<Record<string, string>> = {
  String: 'text',
  Int: 'integer',
  BigInt: 'bigint',
  Boolean: 'boolean',
  Float: 'double precision',
  Bytes: 'bytea',
  '@db.Uuid': 'uuid',
  '@db.SmallInt': 'smallint',
  '@db.JsonB': 'jsonb',
  '@db.Timestamptz(6)': 'timestamp with time zone',
};

const FIELD = /^\s*(\w+)\s+(Unsupported\("([^"]+)"\)|\w+)(\[\]|\?)?(\s.*)?$/;

/** One model of schema.prisma as lines that the database's catalogue can be brought to as well. */
function describeModel(body: string): { table: string; lines: string[]; indexes: string[] } {
  const columns = new Map<string, string>();
  const lines: string[] = [];
  const indexes: string[] = [];
  let table = '';
  let key: string[] = [];
  for (const line of body.split('\n').filter((each) => !/^\s*(\/\/.*)?$/.test(each))) {
    const attribute = /^\s*@@(\w+)\((?:"([^"]+)"|\[([^\]]+)\])\)$/.exec(line);
    const named = (list = ''): string[] =>
      list.split(/,\s*/).map((field) => columns.get(field) ?? `no field ${field}`);
    if (attribute?.[1] === 'map') table = attribute[2] ?? '';
    else if (attribute?.[1] === 'id') key = named(attribute[3]);
    else if (attribute?.[1] === 'index') indexes.push(named(attribute[3]).join(', '));
    else {
      const [, field, type, unsupported, arity, rest = ''] = FIELD.exec(line) ?? [];
      if (!field || !type) throw new Error(`This test cannot read the line "${line}"`);
      const column = /@map\("([^"]+)"\)/.exec(rest)?.[1] ?? field;
      const native = unsupported ?? COLUMN_TYPES[/@db\.\w+(\(\d+\))?/.exec(rest)?.[0] ?? type];
      if (!native) throw new Error(`This test does not know the type of "${line}"`);
      columns.set(field, column);
      if (/@id\b/.test(rest)) key = [column];
      const list = arity === '[]' ? '[]' : '';
      const nullable = arity === '?' ? 'null' : 'not null';
      const filled = rest.includes('@default(') ? ' with default' : '';
      lines.push(`${column} ${native}${list} ${nullable}${filled}`);
    }
  }
  return { table, lines: [...lines.sort(), `key (${key.join(', ')})`], indexes: indexes.sort() };
}

const schema = readFileSync(
  join(import.meta.dirname, '..', '..', '..', 'prisma', 'schema.prisma'),
  'utf8',
);
const models = [...schema.matchAll(/^model \w+ \{\n([\s\S]*?)^\}/gm)].map(([, body = '']) =>
  describeModel(body),
);

describe('schema.prisma', () => {
  const database = useDatabase();

  it('has the tables, columns, types, nullability, defaults and keys that the migrations make', async () => {
    const { rows } = await database.pool.query<{ table: string; lines: string[] }>(`
      select c.relname as table,
             array_agg(format('%s %s %s%s', a.attname,
                              regexp_replace(format_type(a.atttypid, a.atttypmod), '\\(6\\)', ''),
                              case when a.attnotnull then 'not null' else 'null' end,
                              case when a.atthasdef or a.attidentity <> '' then ' with default' end)) as lines
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where c.relnamespace = 'millrace'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
         and c.relname <> '_prisma_migrations'
       group by c.oid order by 1`);
    const keys = await database.pool.query<{ table: string; key: string }>(`
      select relname::text as table, substring(pg_get_constraintdef(k.oid) from '\\(.*\\)') as key
        from pg_constraint k join pg_class c on c.oid = k.conrelid
       where k.contype = 'p' and k.connamespace = 'millrace'::regnamespace`);
    const keyOf = new Map(keys.rows.map((row) => [row.table, row.key]));

    const migrated = rows.map(({ table, lines }) => [
      table,
      [...lines.sort(), `key ${keyOf.get(table) ?? 'missing'}`],
    ]);
    const declared = models.map(({ table, lines }) => [table, lines]);
    expect(Object.fromEntries(declared)).toEqual(Object.fromEntries(migrated));
    expect(models.length).toBeGreaterThan(5);
  });

  it('declares no index that the migrations do not make', async () => {
    const { rows } = await database.pool.query<{ name: string }>(
      "select indexname as name from pg_indexes where schemaname = 'millrace'",
    );
    const made = rows.map(({ name }) => name);
    const declared = models.flatMap(({ table, indexes }) =>
      indexes.map((columns) => `${table}_${columns.replaceAll(', ', '_')}_idx`),
    );
    expect(declared.filter((name) => !made.includes(name))).toEqual([]);
  });
});
