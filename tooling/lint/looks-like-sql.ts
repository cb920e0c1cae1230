const OBJECT =
  '(?:or replace )?(?:temp(?:orary)? |unlogged |unique |materialized )*' +
  '(?:table|index|view|schema|function|procedure|trigger|type|extension|sequence|role|database|policy)';

const STATEMENTS = new RegExp(
  `^(?:${[
    String.raw`select\s[\s\S]+?\sfrom\s`,
    String.raw`select\s+(?:\d+\b|\$\d|[a-z_.]+\()`,
    String.raw`insert\s+into\s`,
    String.raw`update\s+[\w."$\{\}]+\s+(?:as\s+\w+\s+|\w+\s+)?set\s`,
    String.raw`delete\s+from\s`,
    String.raw`merge\s+into\s`,
    String.raw`with\s+(?:recursive\s+)?\w+\s*(?:\([^)]*\)\s*)?as\s+(?:not\s+)?(?:materialized\s+)?\(`,
    `(?:create|alter|drop) ${OBJECT}\\s`,
    String.raw`truncate\s+(?:table\s+)?[\w."]+`,
    String.raw`do\s+\$`,
    String.raw`(?:listen|unlisten|notify)\s+[\w"*]+\s*(?:;|,|$)`,
    String.raw`set\s+(?:local|session)\s`,
    String.raw`lock\s+table\s`,
    String.raw`copy\s+[\w."]+\s+(?:from|to)\s`,
  ].join('|')})`,
);
const COMMENTS_BEFORE = /^(?:\s|--.*(?:\n|$)|\/\*[\s\S]*?\*\/)+/;

/**
 * Whether a text is a statement of SQL. Its keywords must be all small or all capital letters, so that
 * sentences ("Select a queue from the list") stay sentences.
 */
export function looksLikeSql(text: string): boolean {
  const statement = text.replace(COMMENTS_BEFORE, '');
  const firstWord = /^[A-Za-z]+/.exec(statement)?.[0] ?? '';
  const shouts = firstWord.length > 1 && firstWord === firstWord.toUpperCase();
  return STATEMENTS.test(shouts ? statement.toLowerCase() : statement);
}
