/**
 * Request methods by llhttp's numbers. The server recognises the methods that are named here; all others
 * that llhttp accepts are "not implemented" (RFC 9110 section 15.6.2). Tested by vectors.spec.ts.
 */
export const DELETE = 0;
export const GET = 1;
export const HEAD = 2;
export const POST = 3;
export const PUT = 4;
export const CONNECT = 5;
export const OPTIONS = 6;

/** A method of the Icecast protocol. llhttp also accepts it in HTTP/1.1, where it has no meaning. */
export const SOURCE = 33;

/** Returns the bit of a method in sets of methods. Defined for DELETE to OPTIONS. */
export const methodBit = (method: number): number => 1 << method;

/** Whether a resource may support the method: DELETE to PUT, and OPTIONS. */
export function isServedMethod(method: number): boolean {
  return method <= PUT || method === OPTIONS;
}

/** Returns the value of an Allow field: the methods of a set, in a fixed order. */
export function allowedMethods(methods: number): string {
  return ORDER.filter(([method]) => (methods & methodBit(method)) !== 0)
    .map(([, name]) => name)
    .join(', ');
}

/** Returns the name of a served method; the number of any other. */
export function methodName(method: number): string {
  return ORDER.find(([each]) => each === method)?.[1] ?? String(method);
}

const ORDER: readonly (readonly [number, string])[] = [
  [GET, 'GET'],
  [HEAD, 'HEAD'],
  [POST, 'POST'],
  [PUT, 'PUT'],
  [DELETE, 'DELETE'],
  [OPTIONS, 'OPTIONS'],
];
