/**
 * Begins a generation for run $1, or goes on with the one that an earlier attempt of the same run
 * has left.
 */
export const openGeneration = `
update millrace.search_index
   set built_up_to = case when building_run_id = $1::uuid then built_up_to end,
       building_generation = case when building_run_id = $1::uuid then building_generation
                                  else greatest(current_generation, coalesce(building_generation, 0)) + 1 end,
       building_run_id = $1::uuid
returning building_generation as generation`;

/**
 * Adds the next $2 runs to the generation that run $1 builds, and remembers how far it came. Answers
 * how many it added; no row when another run has begun a generation since.
 */
export const indexStep = `
with position as materialized (
  select building_generation, built_up_to from millrace.search_index
   where building_run_id = $1::uuid for update
),
batch as materialized (
  select r.id, r.definition, r.trigger, r.queue, r.end_code, r.tags
    from millrace.runs r, position
   where position.built_up_to is null or r.id > position.built_up_to
   order by r.id limit $2
),
added as (
  insert into millrace.run_search (generation, run_id, document)
  select position.building_generation, b.id,
         setweight(to_tsvector('simple', translate(b.definition, '_.', '  ') || ' ' || b.definition), 'A')
         || setweight(to_tsvector('simple', array_to_string(b.tags, ' ')), 'B')
         || setweight(to_tsvector('simple', concat_ws(' ', b.trigger, b.queue, b.end_code)), 'D')
         || setweight(to_tsvector('simple', coalesce((
              select string_agg(concat_ws(' ', e.error ->> 'name', e.error ->> 'message'), ' ')
                from millrace.executions e where e.run_id = b.id), '')), 'C')
    from batch b, position
  on conflict do nothing
)
update millrace.search_index
   set built_up_to = coalesce((select id from batch order by id desc limit 1), search_index.built_up_to)
  from position
returning (select count(*)::integer from batch) as indexed`;

/** Makes the generation that run $1 built the current one; no row when another run has begun one. */
export const swapGeneration = `
update millrace.search_index
   set current_generation = building_generation, building_generation = null, building_run_id = null,
       built_up_to = null, swapped_at = now()
 where building_run_id = $1::uuid
returning current_generation as generation`;

/** Removes at most $1 documents of generations that are neither current nor being built. */
export const dropOldGenerations = `
delete from millrace.run_search s
 where (s.generation, s.run_id) in (
   select o.generation, o.run_id from millrace.run_search o, millrace.search_index i
    where o.generation <> i.current_generation and o.generation is distinct from i.building_generation
    limit $1)`;
