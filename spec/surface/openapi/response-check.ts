/** Compares responses with an OpenAPI document. */
import type { ReceivedResponse } from '../../integration/client.ts';
import type { DescribedResponse, Operation, ReadDocument } from './described-interface.ts';

/** Fields that HTTP defines for every response; `Cache-Control` is for caches. */
const FIELDS_OF_HTTP = new Set([
  ...['date', 'connection', 'content-length', 'transfer-encoding', 'content-type', 'cache-control'],
]);
/** Fields of responses to browsers, which the document leaves out. */
const FIELD_FOR_BROWSERS =
  /^(vary|access-control-[a-z-]+|content-security-policy|x-content-type-options)$/;
/** Statuses of requests that cannot be read, which the document describes as the default. */
const UNREADABLE = [414, 431, 505];

/** Returns the differences from the document. */
export function differences(
  document: ReadDocument,
  operation: Operation,
  response: ReceivedResponse,
): string[] {
  const { status, fields } = response;
  const described =
    document.responseOf(operation, status) ??
    (UNREADABLE.includes(status) ? document.responseOf(operation, 'default') : undefined);
  if (described === undefined) return [`status ${status}`];
  return [
    ...contentDifferences(document, described, response),
    ...[...fields]
      .filter(([name]) => !FIELDS_OF_HTTP.has(name) && !FIELD_FOR_BROWSERS.test(name))
      .flatMap(([name, text]) => {
        const schema = described.headers.get(name)?.schema;
        if (schema === undefined) return [`field ${name}`];
        const value = schema.type === 'integer' ? Number(text) : text;
        const reason = document.matches(schema, value);
        return reason === '' ? [] : [`field ${name}: ${text}: ${reason}`];
      }),
    ...[...described.headers]
      .filter(([name, { required }]) => required === true && !fields.has(name))
      .map(([name]) => `no field ${name}`),
  ];
}

function contentDifferences(
  document: ReadDocument,
  { description, content }: DescribedResponse,
  { fields, body }: ReceivedResponse,
): string[] {
  if (body.length === 0) {
    const mayBeEmpty = content === undefined || /\bempty\b/.test(description);
    return mayBeEmpty ? [] : ['no content'];
  }
  if (content === undefined) return ['content'];
  if ('*/*' in content) return [];
  const type = fields.get('content-type') ?? '';
  const media = content[type];
  if (media === undefined) return [`content type ${type}`];
  const { schema = {} } = media;
  const text = body.toString();
  const reason = document.matches(schema, type === 'application/json' ? JSON.parse(text) : text);
  return reason === '' ? [] : [`content ${text}: ${reason}`];
}
