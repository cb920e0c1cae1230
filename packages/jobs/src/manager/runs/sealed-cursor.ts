import { createHmac, timingSafeEqual } from 'node:crypto';

import { JobError } from '../../contract/errors.ts';

const MAC_BYTES = 16;

/** Cursors of one list: they stand for a place in that list and are refused by every other. */
export interface SealedCursors {
  write(position: string): string;
  /** Throws `invalid_cursor`. */
  read(cursor: string): string;
}

/** A cursor is a position with a keyed digest of it and of the list's name: none can be made up. */
export function sealedCursors(key: Buffer, list: string): SealedCursors {
  const digest = (position: Buffer): Buffer =>
    createHmac('sha256', key)
      .update(`${position.length} `)
      .update(position)
      .update(list)
      .digest()
      .subarray(0, MAC_BYTES);

  return {
    write(position) {
      const bytes = Buffer.from(position);
      return Buffer.concat([digest(bytes), bytes]).toString('base64url');
    },
    read(cursor) {
      const bytes = Buffer.from(cursor, 'base64url');
      const mac = bytes.subarray(0, MAC_BYTES);
      const position = bytes.subarray(MAC_BYTES);
      // Decoding is lenient; only the text that was written comes back as it was.
      const whole = bytes.length > MAC_BYTES && bytes.toString('base64url') === cursor;
      if (!whole || !timingSafeEqual(mac, digest(position))) {
        throw new JobError('invalid_cursor', 'The cursor is of another list, or no cursor at all.');
      }
      return position.toString();
    },
  };
}
