import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

import { describe, expect, it } from 'vitest';

import { freePort, portFault } from './ports.ts';

describe('portFault', () => {
  it('knows a port that is taken, also on all addresses, and one that is free', async () => {
    const server = createServer().listen(0);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await portFault(port)).toBe(`port ${port} is taken by another program`);
    expect(await freePort(port)).not.toBe(port);
    server.close();
    await once(server, 'close');
    expect(await portFault(port)).toBeNull();
    expect(await freePort(port)).toBe(port);
  });
});
