/**
 * Compares two pools of reused objects, with as many objects in use as a server has requests in
 * progress: one that returns the object with the lowest number (number-allocator.ts), and one that
 * returns the object released last. 64 clients alternate; each takes several objects and releases
 * them in the same order. An object's memory is accessed when it is taken and when it is released.
 */
import { NumberAllocator } from '../src/base/number-allocator.ts';
import type { Bench } from './harness.ts';

const UNDER_WAY_MAX = 2048;
const TAKEN_AT_A_TIME = 32;
/** Words of an object: with its header it is as large as a request and its state. */
const OBJECT_WORDS = 256;

interface Pool {
  take(): Int32Array;
  give(object: Int32Array): void;
}

/** Word 0 of an object is its number. */
class LowestFirst implements Pool {
  readonly #objects: Int32Array[] = [];
  readonly #numbers = new NumberAllocator();

  take(): Int32Array {
    const number = this.#numbers.allocate();
    return this.#objects[number] ?? this.#new(number);
  }

  give(object: Int32Array): void {
    this.#numbers.free(object[0]!);
  }

  #new(number: number): Int32Array {
    const object = new Int32Array(OBJECT_WORDS);
    object[0] = number;
    this.#objects[number] = object;
    return object;
  }
}

class LastReleasedFirst implements Pool {
  readonly #spare: Int32Array[] = [];

  take(): Int32Array {
    return this.#spare.pop() ?? new Int32Array(OBJECT_WORDS);
  }

  give(object: Int32Array): void {
    this.#spare.push(object);
  }
}

export const bench: Bench = {
  name: 'free-numbers',
  about: 'a pool of many objects: the lowest number first, beside the last released first',
  run(harness) {
    const pools = {
      'lowest first': new LowestFirst(),
      'last released first': new LastReleasedFirst(),
    };
    for (const [name, pool] of Object.entries(pools)) {
      const underWay: Int32Array[] = [];
      harness.measure({
        name,
        operations: harness.pick(1000, 2_000_000),
        batch: TAKEN_AT_A_TIME,
        run(first, count) {
          for (let done = 0; done < count; done++) {
            const object = pool.take();
            meet(object);
            underWay.push(object);
          }
          // Replies arrive in pieces of any length.
          const left = (first * 7919) % UNDER_WAY_MAX;
          if (underWay.length <= UNDER_WAY_MAX) return;
          for (const object of underWay.splice(0, underWay.length - left)) {
            meet(object);
            pool.give(object);
          }
        },
      });
    }
  },
};

/** Writes a word in each cache line of the object. */
function meet(object: Int32Array): void {
  for (let word = 1; word < OBJECT_WORDS; word += 16) object[word]!++;
}
