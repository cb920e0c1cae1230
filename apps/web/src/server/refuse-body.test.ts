import { describe, expect, it, vi } from 'vitest';

import { refuseBody } from './refuse-body.ts';

const post = (body: BodyInit | null): Request =>
  new Request('http://localhost/', { method: 'POST', body, duplex: 'half' } as RequestInit);

/** A stream of these chunks; `cancel` is told when the reader wants no more. */
function streamOf(
  chunks: readonly string[],
  cancel = vi.fn<() => void>(),
): ReadableStream<Uint8Array> {
  const rest = chunks.map((chunk) => new TextEncoder().encode(chunk));
  return new ReadableStream(
    {
      pull(controller) {
        const chunk = rest.shift();
        if (chunk) controller.enqueue(chunk);
        else controller.close();
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
}

describe('refuseBody', () => {
  it('accepts a request without a body', async () => {
    await expect(refuseBody(post(null))).resolves.toBeUndefined();
  });

  it.each(['an empty text', 'an empty stream', 'a stream of nothing'])(
    'accepts %s',
    async (which) => {
      const bodies = {
        'an empty text': '',
        'an empty stream': streamOf([]),
        'a stream of nothing': streamOf(['', '']),
      };
      await expect(refuseBody(post(bodies[which as keyof typeof bodies]))).resolves.toBeUndefined();
    },
  );

  it.each(['{}', ' ', '\0', 'null'])('refuses the content %j', async (content) => {
    await expect(refuseBody(post(content))).rejects.toMatchObject({ code: 'body_not_accepted' });
  });

  it('refuses content behind empty chunks', async () => {
    await expect(refuseBody(post(streamOf(['', '{}'])))).rejects.toMatchObject({
      code: 'body_not_accepted',
    });
  });

  it('reads no further than the first bytes', async () => {
    const cancel = vi.fn<() => void>();
    const endless = streamOf(
      Array.from({ length: 1_000 }, () => 'content'),
      cancel,
    );
    await expect(refuseBody(post(endless))).rejects.toMatchObject({ code: 'body_not_accepted' });
    expect(cancel).toHaveBeenCalledOnce();
  });

  it('repeats nothing of the content', async () => {
    await expect(refuseBody(post('a password'))).rejects.toThrow(/^(?!.*password)/);
  });
});
