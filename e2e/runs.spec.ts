import { createPool } from '@millrace/db/pool';
import type { Page } from '@playwright/test';

import { call, runToItsEnd } from './support/scheduler.ts';
import { SECRET } from './support/stack.ts';
import { expect, test } from './support/test.ts';

/** Errors that the browser reports while a test runs: of scripts, of the content policy, of loading. */
const errors: string[] = [];

test.beforeEach(({ page }) => {
  errors.length = 0;
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(error.message));
});

const row = (page: Page, runId: string) => page.locator(`tr[data-run="${runId}"]`);

test('shows a run with its state, soon after it was triggered', async ({ page, facts }) => {
  await page.goto('/');
  await expect(page.getByRole('switch', { name: 'Live updates' })).toBeChecked();

  const { job } = await runToItsEnd(facts.url, 'reindex_runs');

  const run = row(page, String(job['jobId']));
  await expect(run.getByRole('rowheader')).toHaveText('reindex_runs');
  await expect(run.getByText('Succeeded', { exact: true })).toBeVisible();
  await expect(run.getByRole('cell', { name: 'scheduler' })).toBeVisible();
  await expect(run.getByRole('cell', { name: 'batch' })).toBeVisible();
  await expect(run.locator('time')).toHaveAttribute('datetime', String(job['enqueuedAt']));
  expect(errors).toEqual([]);
});

test('stands still while it is paused', async ({ page, facts }) => {
  await page.clock.install();
  await page.goto('/');
  const live = page.getByRole('switch', { name: 'Live updates' });
  await live.click();
  await expect(live).not.toBeChecked();
  const { job } = await runToItsEnd(facts.url, 'reindex_runs');
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));

  await page.clock.runFor(60_000);
  expect(asked).toEqual([]);
  await expect(row(page, String(job['jobId']))).toHaveCount(0);

  await live.click();
  await page.clock.runFor(2_000);
  await expect(row(page, String(job['jobId']))).toBeVisible();
});

test('waits for a web server that is away', async ({ page }) => {
  await page.goto('/');
  const live = page.getByRole('switch', { name: 'Live updates' });
  await page.route('**/healthz', (route) => route.abort());
  await expect(live).toHaveText('Reconnecting');
  await expect(page.getByRole('heading', { name: 'Runs' })).toBeVisible();
  await page.unroute('**/healthz');
  await expect(live).toHaveText('Live');
});

test('filters by state in the address', async ({ page, facts }) => {
  const { job } = await runToItsEnd(facts.url, 'reindex_runs');
  await page.goto('/');
  const tabs = page.getByRole('navigation', { name: 'Filter by state' });

  await tabs.getByRole('link', { name: 'Cancelled' }).click();
  await expect(page).toHaveURL('/?state=cancelled');
  await expect(page.getByRole('heading', { name: 'No cancelled runs' })).toBeVisible();

  await tabs.getByRole('link', { name: 'Succeeded' }).click();
  await expect(row(page, String(job['jobId']))).toBeVisible();
  await expect(tabs.getByRole('link', { name: 'Succeeded' })).toHaveAttribute(
    'aria-current',
    'page',
  );
  expect(errors).toEqual([]);
});

test('pages to older runs and back', async ({ page, stack }) => {
  const databaseUrl = await stack.database();
  await addRuns(databaseUrl, 120);
  const url = await stack.web(databaseUrl);
  const jobs = () => page.getByRole('rowheader').allInnerTexts();

  await page.goto(url);
  const pages = page.getByRole('navigation', { name: 'Pages' });
  expect(await jobs()).toEqual(names(120, 71));
  await pages.getByRole('link', { name: 'Older' }).click();
  await expect.poll(jobs).toEqual(names(70, 21));
  await pages.getByRole('link', { name: 'Older' }).click();
  await expect.poll(jobs).toEqual(names(20, 1));
  await expect(pages.getByRole('link', { name: 'Older' })).toHaveCount(0);
  await pages.getByRole('link', { name: 'Newer' }).click();
  await expect.poll(jobs).toEqual(names(70, 21));
  await pages.getByRole('link', { name: 'Newest' }).click();
  await expect.poll(jobs).toEqual(names(120, 71));
});

for (const [colorScheme, ground] of [
  ['light', 'rgb(255, 255, 255)'],
  ['dark', 'rgb(15, 18, 20)'],
] as const) {
  test.describe(`in the ${colorScheme} scheme`, () => {
    test.use({ colorScheme });

    test('fits into narrow and wide windows', async ({ page, stack }, testInfo) => {
      const databaseUrl = await stack.database();
      await addRuns(databaseUrl, 14);
      await page.goto(await stack.web(databaseUrl));
      await expect(page.getByRole('row')).toHaveCount(14 + 1);

      for (const width of [320, 390, 768, 1152, 1280, 2560]) {
        await page.setViewportSize({ width, height: 900 });
        const seen = await page.evaluate(() => ({
          ground: getComputedStyle(document.documentElement).backgroundColor,
          overflow: document.documentElement.scrollWidth - document.body.clientWidth,
        }));
        expect(seen, `at ${width} pixels`).toEqual({ ground, overflow: 0 });
        const picture = await page.screenshot();
        await testInfo.attach(`${width}`, { body: picture, contentType: 'image/png' });
      }
      expect(errors).toEqual([]);
    });
  });
}

test('says what to do while there are no runs, without the secret', async ({ page, stack }) => {
  const url = await stack.web(await stack.database());
  await page.goto(url);
  await expect(page.getByRole('heading', { name: 'No runs yet' })).toBeVisible();
  await expect(page.getByText(`curl -i -X POST ${url}/internal/jobs/reindex_runs`)).toBeVisible();
  expect(await page.content()).not.toContain(SECRET);
});

test('copies the id of a run', async ({ page, context, facts }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const { job } = await runToItsEnd(facts.url, 'reindex_runs');
  const id = String(job['jobId']);
  await page.goto('/');
  await page.getByRole('button', { name: `Copy run id ${id}` }).click();
  await expect(row(page, id).getByText('Copied')).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(id);
});

test('says so when the database is away, without a stack', async ({ page, stack }) => {
  await page.goto(await stack.web('postgres://127.0.0.1:1/none', { waitFor: '/healthz' }));
  await expect(page.getByRole('alert').filter({ hasText: 'cannot be read' })).toBeVisible();
  expect(await page.content()).not.toMatch(/ECONNREFUSED|Prisma|127\.0\.0\.1:1\b/);
});

test('refuses an address that names no list', async ({ page }) => {
  await page.goto('/?state=broken');
  await expect(page.getByRole('heading', { name: 'names no list of runs' })).toBeVisible();
});

for (const appEnv of ['staging', 'production']) {
  test(`is not there in ${appEnv}`, async ({ page, stack, facts }) => {
    const { job } = await runToItsEnd(facts.url, 'reindex_runs');
    const response = await page.goto(await stack.web(facts.databaseUrl, { appEnv }));
    expect(response?.status()).toBe(404);
    const content = await page.content();
    expect(content).not.toContain(String(job['jobId']));
    expect(content).not.toContain(appEnv);
  });
}

for (const path of ['/', '/healthz', '/internal/jobs/nothing', '/nothing', '/icon.svg']) {
  test(`${path} has the security headers`, async ({ facts: { url } }) => {
    const { headers } = await call(url, 'GET', path);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.has('x-powered-by')).toBe(false);
    if (path === '/icon.svg') return;
    expect(headers.get('content-security-policy')).toMatch(
      path === '/' || path === '/nothing'
        ? /script-src 'self' 'nonce-[\w+/=]+'/
        : /^default-src 'n/,
    );
  });
}

const names = (from: number, to: number): string[] =>
  Array.from({ length: from - to + 1 }, (_, i) => `test.job_${from - i}`);

/** Runs in all states, the newest with the highest number. */
async function addRuns(databaseUrl: string, count: number): Promise<void> {
  const pool = createPool({
    connectionString: databaseUrl,
    max: 1,
    applicationName: 'millrace e2e',
    log: { warn: () => undefined },
  });
  try {
    await pool.query(
      `insert into millrace.runs (id, definition, queue, state, trigger, run_at, ticket, execution,
                                  attempt, max_attempts, worker_id, end_code, enqueued_at, started_at,
                                  finished_at)
       select ('01a22f44-e215-7d89-a5b9-' || lpad(n::text, 12, '0'))::uuid, 'test.job_' || n, 'default',
              state, 'app', now() + case when n % 14 = 1 then 60 else -60 end * interval '1 second',
              case when not ended then n end, 1, 1, 3,
              case when state = 'running' then gen_random_uuid() end,
              case state when 'failed' then 'attempts_exhausted' when 'cancelled' then 'cancelled' end,
              now() - interval '90 seconds', case when state <> 'queued' then now() end,
              case when ended then now() end
         from generate_series(1, $1::integer) n,
              lateral (select (array['queued', 'running', 'retrying', 'succeeded', 'failed', 'cancelled',
                                     'succeeded'])[1 + n % 7] as state) s,
              lateral (select state in ('succeeded', 'failed', 'cancelled') as ended) e`,
      [count],
    );
  } finally {
    await pool.end();
  }
}
