import { publishFacts } from './facts.ts';
import { Stack } from './stack.ts';

/** Starts what all tests share; returns what ends it. */
export default async function globalSetup(): Promise<() => Promise<void>> {
  const stack = new Stack();
  try {
    const databaseUrl = await stack.database();
    const [url] = await Promise.all([
      stack.web(databaseUrl),
      stack.worker(databaseUrl, 'default,mail'),
      stack.worker(databaseUrl, 'batch'),
    ]);
    publishFacts({ url, databaseUrl });
  } catch (error) {
    await stack.stop(); // nobody calls the teardown of a setup that failed
    throw error;
  }
  return () => stack.stop();
}
