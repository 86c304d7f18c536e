/**
 * Short forms of the JSON Schema (2020-12) and of the responses that the OpenAPI document contains.
 * Tested by openapi-document.spec.ts.
 */

export type Schema = Readonly<Record<string, unknown>>;
type Schemas = Readonly<Record<string, Schema>>;

export const TEXT: Schema = { type: 'string' };
export const NUMBER: Schema = { type: 'number' };
export const INTEGER: Schema = { type: 'integer' };
export const COUNT: Schema = { type: 'integer', minimum: 0 };
export const BOOLEAN: Schema = { type: 'boolean' };
export const UUID: Schema = { type: 'string', format: 'uuid' };
export const TEXT_OR_NULL: Schema = { type: ['string', 'null'] };
export const COUNT_OR_NULL: Schema = { type: ['integer', 'null'], minimum: 0 };
export const TIME: Schema = { ...INTEGER, description: 'Milliseconds since 1970' };

/** The media type of bytes, with the format by which generators recognise them. */
export const BYTES = { 'application/octet-stream': { schema: { ...TEXT, format: 'binary' } } };

/** An object; `optional`: members that may be missing. */
export function object(members: Schemas, optional: Schemas = {}): Schema {
  const properties = { ...members, ...optional };
  return { type: 'object', properties, required: Object.keys(members) };
}

export function arrayOf(items: Schema): Schema {
  return { type: 'array', items };
}

export function oneOf(...values: readonly string[]): Schema {
  return { type: 'string', enum: values };
}

export function only(value: string): Schema {
  return { type: 'string', const: value };
}

export function orNull(schema: Schema): Schema {
  return { anyOf: [schema, { type: 'null' }] };
}

/** A schema of the document, by its name. */
export function named(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** The result of an administrative call. */
export function success(members: Schemas = {}, optional: Schemas = {}): Schema {
  return object({ status: only('success'), ...members }, optional);
}

/** A response as the document describes it. */
export interface DescribedResponse {
  readonly description: string;
  readonly headers?: Schemas;
  /** Media types; undefined if there is never any content. */
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

export function empty(description: string): DescribedResponse {
  return { description };
}

export function json(description: string, schema: Schema): DescribedResponse {
  return { description, content: { 'application/json': { schema } } };
}

/** The properties of an operation that its row lacks. The id of the operation is the name of its row. */
export interface OperationPart {
  /** By status: those of the row, and those that differ from the shared ones. */
  readonly responses: Readonly<Record<number, DescribedResponse>>;
  /** Sentences that follow the summary. */
  readonly description?: string;
  /** Header fields of the request, each with its description and schema. */
  readonly fields?: Schemas;
  /** Content of the request that is stored or passed on as it is, by media type. */
  readonly content?: DescribedResponse['content'];
  /** Values of a parameter in the form, encoded, for examples. */
  readonly values?: Readonly<Record<string, readonly string[]>>;
  /** Descriptions of parameters in the path that differ from the shared ones. */
  readonly inPath?: Readonly<Record<string, string>>;
  /** Whether its path is an old name of another one. */
  readonly isOldName?: true;
  /** Whether its failures have status 200 in the dialect that does not distinguish failures. */
  readonly failsWith200?: true;
}

/** By the names of rows. */
export type OperationParts = Readonly<Record<string, OperationPart>>;
