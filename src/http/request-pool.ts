/** The pool of a server's objects for requests. Those that were created first are used first. */
import { NumberAllocator } from '../base/number-allocator.ts';
import { Request } from './request.ts';
import { Places } from './retained-bytes.ts';
import type { HttpServer } from './server.ts';

/**
 * Maximum number of spare objects: those of 64 clients with 64 requests under way each. After a
 * flood, those beyond it are left to the garbage collector.
 */
const SPARE_MAX = 4096;
/** Maximum number of places; a request with content has two. */
const PLACES_MAX = 2 * SPARE_MAX;

export class RequestPool {
  readonly #server: HttpServer;
  /** The objects by their numbers; undefined for a number without an object. */
  readonly #requests: (Request | undefined)[] = [];
  /** The numbers of the objects that have a request. */
  readonly #numbers = new NumberAllocator();
  /** Number of objects without a request. */
  #spareCount = 0;
  readonly #places = new Places(PLACES_MAX);
  readonly #onFree = (request: Request): void => this.#release(request);

  constructor(server: HttpServer) {
    this.#server = server;
  }

  /** Number of requests. */
  get usedCount(): number {
    return this.#numbers.count;
  }

  /** Memory for the bytes that requests under way retain, without long ones, in bytes. */
  get placeBytes(): number {
    return this.#places.bytes;
  }

  acquire(): Request {
    const number = this.#numbers.allocate();
    const spare = this.#requests[number];
    if (spare === undefined) return this.#new(number);
    this.#spareCount--;
    return spare;
  }

  #new(number: number): Request {
    const request = new Request(this.#server, this.#places, number, this.#onFree);
    this.#requests[number] = request;
    return request;
  }

  #release(request: Request): void {
    this.#numbers.free(request.poolNumber);
    if (this.#spareCount < SPARE_MAX) {
      this.#spareCount++;
      return;
    }
    request.release();
    this.#requests[request.poolNumber] = undefined;
  }
}
