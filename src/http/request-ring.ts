/**
 * The requests under way, first in, first out: a ring buffer that grows and does not
 * shrink. Tested by connection.spec.ts.
 */
import type { Request } from './request.ts';

/** Initial capacity, a power of two. */
const FIRST_PLACES = 4;

export class RequestRing {
  #requests: (Request | undefined)[] = NO_PLACES;
  #first = 0;
  /** Number of requests. */
  count = 0;

  get first(): Request | undefined {
    return this.count === 0 ? undefined : this.#at(0);
  }

  get last(): Request | undefined {
    return this.count === 0 ? undefined : this.#at(this.count - 1);
  }

  push(request: Request): void {
    if (this.count === this.#requests.length) this.#grow();
    this.#requests[(this.#first + this.count++) & (this.#requests.length - 1)] = request;
  }

  /** Removes the first request; there must be one. */
  shift(): void {
    this.#requests[this.#first] = undefined;
    this.#first = (this.#first + 1) & (this.#requests.length - 1);
    this.count--;
  }

  /** Returns all requests in order. */
  list(): Request[] {
    return Array.from({ length: this.count }, (_, index) => this.#at(index));
  }

  clear(): void {
    this.#requests = NO_PLACES;
    this.#first = 0;
    this.count = 0;
  }

  #at(index: number): Request {
    return this.#requests[(this.#first + index) & (this.#requests.length - 1)] as Request;
  }

  #grow(): void {
    const requests = this.list();
    const places = Math.max(FIRST_PLACES, 2 * requests.length);
    this.#requests = new Array(places).fill(undefined);
    for (const [index, request] of requests.entries()) this.#requests[index] = request;
    this.#first = 0;
  }
}

const NO_PLACES: (Request | undefined)[] = [];
