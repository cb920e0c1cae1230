import { DEFINITION_NAME } from '@millrace/jobs/contract/definition';

import { quoted, Refusal } from './refusal.ts';

/** One job in its three spellings. */
export interface JobName {
  /** Of the definition: `cleanup_sessions`. */
  readonly name: string;
  /** Its folder: `cleanup-sessions`. */
  readonly folder: string;
  /** The export of its definition.ts: `cleanupSessions`. */
  readonly variable: string;
}

const SPELLING = /^[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*$/;
const MAX_LENGTH = 63;

/** Words that TypeScript keeps from being the name of an export in a module. */
const LANGUAGE = (
  'arguments await break case catch class const continue debugger default delete do else enum eval ' +
  'export extends false finally for function if implements import in instanceof interface let new ' +
  'null package private protected public return static super switch this throw true try typeof ' +
  'undefined var void while with yield globalThis require exports module'
).split(' ');

/** What the generated files call something else; a test holds it against the templates. */
export const TEMPLATE_NAMES = (
  'database defineHandler defineInlineHandler defineInlineJob defineJob definitions describe expect ' +
  'handler it perform performInlineJob performJob readClock result useDatabase'
).split(' ');

/** Folders that git or a check passes over wherever they are; a test holds it against .gitignore. */
export const IGNORED_FOLDERS = ['generated', 'playwright-report', 'test-results'];

const RESERVED: ReadonlySet<string> = new Set([...LANGUAGE, ...TEMPLATE_NAMES]);

/** Takes CamelCase, snake_case and kebab-case. Throws a {@link Refusal}. */
export function parseJobName(text: string): JobName {
  if (!SPELLING.test(text)) {
    throw new Refusal(
      `${quoted(text)} is not a job name (letters a-z, digits, "-" and "_"): ${instead(text)}`,
    );
  }
  const parsed = spell(text);
  if (!DEFINITION_NAME.test(parsed.name)) {
    throw new Refusal(
      `${quoted(text)} makes a name of ${parsed.name.length} characters: write one of 2 to ${MAX_LENGTH}, such as CleanupSessions`,
    );
  }
  if (RESERVED.has(parsed.variable)) {
    throw new Refusal(
      `${quoted(text)} is a word of TypeScript or of the generated files: write ${camel(text)}Job`,
    );
  }
  if (IGNORED_FOLDERS.includes(parsed.folder)) {
    throw new Refusal(
      `${quoted(text)} makes a folder that git and the checks pass over: write ${camel(text)}Job`,
    );
  }
  return parsed;
}

function spell(text: string): JobName {
  const words = wordsOf(text);
  const folder = words.join('-');
  return { name: words.join('_'), folder, variable: variableOf(folder) };
}

/** The export that registry/generate.ts expects of a folder. */
export function variableOf(folder: string): string {
  return folder.replaceAll(/-(\w)/g, (_match, first: string) => first.toUpperCase());
}

/** `HTTPServer-v2` → http, server, v2. */
function wordsOf(text: string): string[] {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .split(/[_-]/);
}

function camel(text: string): string {
  return wordsOf(text)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

/** The nearest name that is one: accents, blanks, dots and paths are taken off. */
function instead(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^[_0-9]+|_+$/g, '');
  const found = SPELLING.test(plain) ? spell(plain) : null;
  const usable = found && DEFINITION_NAME.test(found.name) && !RESERVED.has(found.variable);
  return `write ${usable ? camel(plain) : 'one such as CleanupSessions'}`;
}
