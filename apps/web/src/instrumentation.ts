/** Next.js calls this once before the server takes requests. */
export async function register(): Promise<void> {
  if (process.env['NEXT_RUNTIME'] !== 'nodejs') return;
  const { startServer } = await import('./server/start-server.ts');
  await startServer();
}
