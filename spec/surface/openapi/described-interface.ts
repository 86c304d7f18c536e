/** The OpenAPI document as a client reads it. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Compatibility } from '../../../src/config/compatibility.ts';
import { ROUTES } from '../../../src/member/routes.ts';
import { DIALECTS } from '../../../src/surface/dialect.ts';
import { openApiDocument } from '../../../src/surface/openapi/openapi-document.ts';
import { rowsOf } from '../../../src/surface/resource.ts';

export const METHODS = ['get', 'post', 'put', 'delete', 'patch'] as const;

/** The logins of a member with each value of `network.rest-api.authentication`. */
export const LOGINS = {
  none: { login: undefined, memberLogin: undefined },
  usersInBody: { login: undefined, memberLogin: {} },
  basic: { login: { coversHealth: false }, memberLogin: {} },
  basicAll: { login: { coversHealth: true }, memberLogin: {} },
} as const;

export type Schema = Readonly<Record<string, unknown>>;

interface MediaType {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface DescribedHeader {
  readonly schema: Schema;
  readonly required?: boolean;
}

export interface DescribedResponse {
  readonly description: string;
  readonly headers: ReadonlyMap<string, DescribedHeader>;
  readonly content: Readonly<Record<string, MediaType>> | undefined;
}

export interface DescribedParameter {
  readonly name: string;
  readonly in: 'path' | 'header';
  readonly schema: Schema;
}

interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly DescribedParameter[];
  readonly requestBody?: {
    readonly description?: string;
    readonly content: Readonly<Record<string, MediaType>>;
  };
  readonly responses: Readonly<Record<string, Schema>>;
  readonly security: readonly object[];
}

export interface Operation extends Omit<OperationObject, 'operationId'> {
  readonly id: string;
  readonly method: string;
  /** The path as in the document. */
  readonly path: string;
}

export interface Described {
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, Schema>>>>;
}

/** The document of a dialect with these logins; of all rows if `rows` is not given. */
export function documentOf(
  compatibility: Compatibility,
  login: (typeof LOGINS)[keyof typeof LOGINS] = LOGINS.none,
  rows = rowsOf(ROUTES, compatibility),
) {
  const dialect = DIALECTS[compatibility];
  const options = { segment: dialect.pathSegment, version: '1.2.3', dialect, ...login };
  return readDocument(openApiDocument(rows, options));
}

export function readDocument(text: string) {
  const document = JSON.parse(text) as Described;
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { operationId: id, ...others }]): Operation => {
      return { id, method: method.toUpperCase(), path, ...others };
    }),
  );
  const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true });
  ajv.addFormat('uuid', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  ajv.addFormat('binary', true);
  ajv.addVocabulary(['components']);
  ajv.addSchema({ $id: 'document', components: closed(document.components) } as Schema);
  const compiled = new Map<Schema, ValidateFunction>();

  /** Returns the reasons why the value does not match; members that are not described are a reason. */
  const matches = (schema: Schema, value: unknown): string => {
    let validate = compiled.get(schema);
    if (validate === undefined) {
      const text = JSON.stringify(closed(schema)).replaceAll('"#/', '"document#/');
      validate = ajv.compile(JSON.parse(text) as Schema);
      compiled.set(schema, validate);
    }
    return validate(value) ? '' : ajv.errorsText(validate.errors);
  };

  const resolved = (reference: Schema): Schema => {
    const { $ref } = reference;
    if (typeof $ref !== 'string') return reference;
    const [, , kind = '', name = ''] = $ref.split('/');
    return document.components[kind]?.[name] ?? {};
  };

  const responseOf = (operation: Operation, status: number | 'default') => {
    const reference = operation.responses[status];
    if (reference === undefined) return undefined;
    const {
      description,
      headers = {},
      content,
    } = resolved(reference) as unknown as {
      readonly description: string;
      readonly headers?: Readonly<Record<string, Schema>>;
      readonly content?: DescribedResponse['content'];
    };
    const fields = Object.entries(headers).map(
      ([name, header]) =>
        [name.toLowerCase(), resolved(header) as unknown as DescribedHeader] as const,
    );
    return { description, headers: new Map(fields), content } satisfies DescribedResponse;
  };

  // A path with fewer parameters comes first.
  const templates = Object.keys(document.paths)
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .map((template) => ({ template, pattern: patternOf(template) }));

  /** Returns the operation of a path below that of the server; undefined if it is not described. */
  const operationAt = (method: string, path: string): Operation | undefined => {
    const found = templates.find(({ pattern }) => pattern.test(path))?.template;
    return operations.find((each) => each.path === found && each.method === method);
  };

  const server = document.servers[0]?.url ?? '';
  return { text, server, operations, operationAt, matches, responseOf };
}

export type ReadDocument = ReturnType<typeof readDocument>;

/** The pattern of the paths of an operation, without a query. */
function patternOf(template: string): RegExp {
  const pattern = template.replace('{key}', '[^?]*[^?/]').replace(/\{\w+\}/g, '[^?/]+');
  return new RegExp(`^${pattern}$`);
}

/** Returns the schema with objects that have no other members than those described. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([name, value]) => [name, closed(value)] as const);
  const copy = Object.fromEntries(entries);
  return 'properties' in copy ? { ...copy, additionalProperties: false } : copy;
}
