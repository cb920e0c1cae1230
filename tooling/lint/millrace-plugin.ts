/**
 * Rules of this repository for oxlint (.oxlintrc.json says where each holds):
 *
 * - `no-sql`: SQL is written in its own rooms, a named statement per file (docs/…: a reader finds every
 *   statement, and nobody else's code depends on the tables).
 * - `no-export-all`: every export of a module is named in it.
 */
import { looksLikeSql } from './looks-like-sql.ts';

interface Node {
  readonly type: string;
}
interface Literal extends Node {
  readonly value: unknown;
}
interface TemplateLiteral extends Node {
  readonly quasis: readonly { readonly value: { readonly raw: string } }[];
}
interface TaggedTemplate extends Node {
  readonly tag: Node & { readonly name?: string; readonly property?: { readonly name?: string } };
}
interface Call extends Node {
  readonly callee: Node & { readonly property?: { readonly name?: string } };
  readonly arguments: readonly Node[];
}
interface Context {
  report(diagnostic: { node: Node; message: string }): void;
}

const SQL_TAGS = new Set(['sql', '$queryRaw', '$executeRaw']);
const SQL_METHODS = new Set(['query', '$queryRawUnsafe', '$executeRawUnsafe']);
const SQL_MESSAGE =
  'SQL belongs into engine/sql/, manager/<noun>/sql/ or definitions/<job>/sql/, a named statement per file';

const noSql = {
  create(context: Context) {
    const report = (node: Node): void => context.report({ node, message: SQL_MESSAGE });
    return {
      Literal(node: Literal) {
        if (typeof node.value === 'string' && looksLikeSql(node.value)) report(node);
      },
      TemplateLiteral(node: TemplateLiteral) {
        if (looksLikeSql(node.quasis.map(({ value }) => value.raw).join('$1'))) report(node);
      },
      TaggedTemplateExpression(node: TaggedTemplate) {
        if (SQL_TAGS.has(node.tag.name ?? node.tag.property?.name ?? '')) report(node);
      },
      CallExpression(node: Call) {
        const [text] = node.arguments;
        const isText = text?.type === 'Literal' || text?.type === 'TemplateLiteral';
        if (isText && SQL_METHODS.has(node.callee.property?.name ?? '')) report(node);
      },
    };
  },
};

const noExportAll = {
  create(context: Context) {
    return {
      ExportAllDeclaration(node: Node) {
        context.report({ node, message: 'Name what this module exports instead of export *' });
      },
    };
  },
};

export default {
  meta: { name: 'millrace' },
  rules: { 'no-sql': noSql, 'no-export-all': noExportAll },
};
