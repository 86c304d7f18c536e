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
  /** The objects by their numbers; undefined for a vacant number. */
  readonly #requests: (Request | undefined)[] = [];
  /** The numbers of the objects without a request, and their count. */
  readonly #spare = new NumberAllocator();
  #spareCount = 0;
  /** The numbers without an object. */
  readonly #vacant = new NumberAllocator();
  readonly #places = new Places(PLACES_MAX);
  readonly #onFree = (request: Request): void => this.#release(request);
  /** Number of requests. */
  usedCount = 0;

  constructor(server: HttpServer) {
    this.#server = server;
  }

  /** Memory for the bytes that requests under way retain, without long ones, in bytes. */
  get placeBytes(): number {
    return this.#places.bytes;
  }

  acquire(): Request {
    this.usedCount++;
    const number = this.#spare.allocate();
    if (number < 0) return this.#new();
    this.#spareCount--;
    return this.#requests[number] as Request;
  }

  #new(): Request {
    const vacant = this.#vacant.allocate();
    const number = vacant < 0 ? this.#requests.length : vacant;
    const request = new Request(this.#server, this.#places, number, this.#onFree);
    this.#requests[number] = request;
    return request;
  }

  #release(request: Request): void {
    this.usedCount--;
    const { poolNumber } = request;
    if (this.#spareCount < SPARE_MAX) {
      this.#spareCount++;
      this.#spare.free(poolNumber);
      return;
    }
    request.release();
    this.#requests[poolNumber] = undefined;
    this.#vacant.free(poolNumber);
  }
}
