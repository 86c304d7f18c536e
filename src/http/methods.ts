/**
 * Request methods by the numbers of the parser. Those with a name here are known to the server; every
 * other one that the parser knows is "not implemented" (RFC 9110 section 15.6.2).
 */
export const DELETE = 0;
export const GET = 1;
export const HEAD = 2;
export const POST = 3;
export const PUT = 4;
export const CONNECT = 5;
export const OPTIONS = 6;

/** Of the Icecast protocol; the parser accepts it in HTTP/1.1, too, where it has no meaning. */
export const SOURCE = 33;

/** One bit a method, for sets of methods. Defined for DELETE to OPTIONS. */
export const methodBit = (method: number): number => 1 << method;

/** Whether some resource of a server may know the method: DELETE to PUT, and OPTIONS. */
export function isServedMethod(method: number): boolean {
  return method <= PUT || method === OPTIONS;
}

/** The value of an Allow field: the methods of a set, in a fixed order. */
export function allowedMethods(methods: number): string {
  return ORDER.filter(([method]) => (methods & methodBit(method)) !== 0)
    .map(([, name]) => name)
    .join(', ');
}

/** The name of a served method. */
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
