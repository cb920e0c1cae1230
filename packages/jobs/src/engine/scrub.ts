/** Shorter strings are words of the language rather than data of a person. */
const MIN_LENGTH = 4;

/** Every string of {@link MIN_LENGTH} or more characters in the value, longest first. */
export function secretsIn(value: unknown): string[] {
  const found = new Set<string>();
  const visit = (part: unknown): void => {
    if (typeof part === 'string') {
      if (part.length >= MIN_LENGTH) found.add(part);
    } else if (Array.isArray(part)) {
      part.forEach(visit);
    } else if (typeof part === 'object' && part !== null) {
      Object.values(part).forEach(visit);
    }
  };
  visit(value);
  return [...found].sort((a, b) => b.length - a.length);
}

/** The text without any of the secrets. */
export function scrub(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);
}

/** PostgreSQL stores neither NUL nor half a surrogate pair. */
export function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed();
}

/** A storable copy of plain data in which no string holds any of the secrets. */
export function scrubDeep(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return storable(scrub(value, secrets));
  if (Array.isArray(value)) return value.map((part) => scrubDeep(part, secrets));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, part]) => [
        storable(scrub(key, secrets)),
        scrubDeep(part, secrets),
      ]),
    );
  }
  return value;
}
