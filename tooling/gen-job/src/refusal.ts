/** Why nothing was generated. Its message is one line that says what to write instead. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

const SHOWN = 60;

/** A value as it is repeated in a message: on one line, and not at any length. */
export function quoted(value: string): string {
  const shown = value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value;
  // Control and formatting characters would break the line or turn it around.
  return JSON.stringify(shown).replaceAll(/\p{C}/gu, '?');
}
