import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import { type Readiness, startHealthServer } from './health-server.ts';

let server: Server | undefined;
afterEach(() => server?.close());

async function get(path: string, readiness: () => Promise<Readiness>): Promise<[number, string]> {
  server = await startHealthServer(0, readiness, metrics);
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://localhost:${port}${path}`, {
    headers: { connection: 'close' },
  });
  return [response.status, await response.text()];
}
let metrics = () => Promise.resolve('millrace_running 1\n');
const ready = () => Promise.resolve({ ready: true, detail: 'ok' });
const broken = () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7'));

describe('startHealthServer', () => {
  it('is healthy while the process lives, ready or not', async () => {
    expect(await get('/healthz', broken)).toEqual([200, 'ok\n']);
  });

  it('is ready when it can work', async () => {
    expect(await get('/readyz', ready)).toEqual([200, 'ok\n']);
  });

  it('says why it is not ready', async () => {
    const stopping = () => Promise.resolve({ ready: false, detail: 'stopping' });
    expect(await get('/readyz', stopping)).toEqual([503, 'stopping\n']);
  });

  it('is not ready when it cannot find out, and tells no address', async () => {
    expect(await get('/readyz', broken)).toEqual([503, 'the database cannot be reached\n']);
  });

  it('tells what it measured', async () => {
    expect(await get('/metrics', broken)).toEqual([200, 'millrace_running 1\n']);
  });

  it('says that it cannot tell', async () => {
    metrics = () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7'));
    expect(await get('/metrics', ready)).toEqual([500, 'no metrics\n']);
  });

  it('has nothing else', async () => {
    expect(await get('/', ready)).toEqual([404, 'not found\n']);
  });

  it('throws when the port is taken', async () => {
    server = await startHealthServer(0, ready, metrics);
    const { port } = server.address() as AddressInfo;
    await expect(startHealthServer(port, ready, metrics)).rejects.toThrow('EADDRINUSE');
  });
});
