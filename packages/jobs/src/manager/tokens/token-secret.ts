import { createHash, randomBytes } from 'node:crypto';

const PREFIX = 'millrace_';

/** A token that cannot be guessed; its prefix lets scanners of leaked secrets recognise it. */
export function newTokenSecret(): string {
  return PREFIX + randomBytes(32).toString('base64url');
}

/** What is stored of a token. It has 256 bits of chance, so a fast digest without salt suffices. */
export function tokenDigest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
