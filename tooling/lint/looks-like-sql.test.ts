import { describe, expect, it } from 'vitest';

import { looksLikeSql } from './looks-like-sql.ts';

describe('looksLikeSql', () => {
  it.each([
    'select id from millrace.runs',
    'SELECT id FROM millrace.runs',
    '\n  -- why\n  select now()',
    'select 1',
    'select * from millrace.trigger_runs($1)',
    'insert into millrace.queues (name) values ($1)',
    'update millrace.runs set state = $1',
    'update millrace.runs r\n   set state = $1',
    'update $1.runs as r set state = $2',
    'delete from millrace.runs',
    'with due as materialized (select 1) select * from due',
    'with recursive t(n) as (values (1)) select n from t',
    'create unique index concurrently x on y (z)',
    'create or replace function f() returns void',
    'drop table if exists x',
    'truncate millrace.runs',
    'do $$ begin end $$',
    'listen millrace_control',
    "set local lock_timeout = '5s'",
  ])('knows the statement %j', (text) => {
    expect(looksLikeSql(text)).toBe(true);
  });

  it.each([
    '',
    'Select a queue from the list',
    'Update the settings',
    'Delete from history?',
    'select',
    'update available',
    'with care',
    'create a run',
    'Create table',
    'drop the run',
    'listen for changes of a queue',
    'DELETE',
    'GET',
    'queued',
    'set by the operator',
  ])('leaves the text %j alone', (text) => {
    expect(looksLikeSql(text)).toBe(false);
  });
});
