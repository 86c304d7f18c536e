/**
 * Any number of deadlines on one timer of the clock: a hierarchical timing wheel (Varghese and
 * Lauck, 1987). Time is divided into ticks. A level has 64 slots, each as wide as the whole level
 * below it, and eight levels span 2^48 ticks. A deadline is in the level of the highest six-bit
 * digit in which its tick differs from the current one, and moves down a level whenever that digit
 * is reached: O(1) to add and to cancel, at most seven moves per deadline.
 *
 * Nothing runs while no deadline is due: the clock's timer is set only for the next occupied slot.
 * A deadline is never early. It is late by less than one tick plus the lateness of the clock's
 * timer. Deadlines are reported in the order of their ticks; those of one tick in any order.
 */
import assert from 'node:assert/strict';
import type { Clock, Timer } from './clock.ts';
import { growArray } from './grow-array.ts';
import { TicketTable } from './ticket-table.ts';

const SLOT_BITS = 6;
const SLOTS = 1 << SLOT_BITS;
const SLOT_MASK = SLOTS - 1;
const LEVELS = 8;
/**
 * Number of low bits of a tick; a tick has more bits than integer operations support, so it is
 * split.
 */
const LOW_BITS = 30;
const LOW = 2 ** LOW_BITS;
const LOW_LEVELS = LOW_BITS / SLOT_BITS;
/** Number of ticks that a slot of each level covers. */
const WIDTHS = Float64Array.from({ length: LEVELS }, (_, level) => SLOTS ** level);
const TICKS_MAX = 2 ** (SLOT_BITS * LEVELS) - 1;
const DELAY_MS_MAX = 2 ** 31 - 1;

/** Called when a deadline is due. It may add and cancel deadlines. */
type OnDue = (owner: number) => void;

export class TimerWheel {
  readonly #clock: Clock;
  readonly #onDue: OnDue;
  readonly #tickMs: number;
  /** Time of tick 0, in ms of the clock. */
  readonly #originMs: number;
  readonly #table = new TicketTable();
  /** The tick up to which every deadline has been reported. */
  #tick = 0;
  /** First deadline of each slot, by level and slot. */
  readonly #heads = new Int32Array(LEVELS * SLOTS);
  /** Number of deadlines in each level, to skip empty levels. */
  readonly #levelCounts = new Int32Array(LEVELS);
  #next = new Int32Array(this.#table.capacity);
  #previous = new Int32Array(this.#table.capacity);
  /** Level and slot of each deadline. */
  #slots = new Int32Array(this.#table.capacity);
  #ticks = new Float64Array(this.#table.capacity);
  #owners = new Float64Array(this.#table.capacity);
  #timer: Timer | undefined;
  /** The tick that the timer is armed for. */
  #timerTick = Number.POSITIVE_INFINITY;
  #isRunning = false;
  readonly #onTimer = () => this.#runDue();

  /** `tickMs`: resolution of the deadlines, in ms; default 1. */
  constructor(clock: Clock, onDue: OnDue, tickMs = 1) {
    this.#clock = clock;
    this.#onDue = onDue;
    this.#tickMs = tickMs;
    this.#originMs = clock.now();
  }

  /** Number of pending deadlines. */
  get count(): number {
    return this.#table.count;
  }

  /**
   * Calls onDue with `owner` (any number) once the clock reaches `deadlineMs`; a past deadline is
   * due at the next tick. Returns the id for `cancel`, never 0.
   */
  add(deadlineMs: number, owner: number): number {
    if (this.#table.count === 0 && !this.#isRunning) this.#tick = this.#currentTick();
    const tick = Math.ceil((deadlineMs - this.#originMs) / this.#tickMs);
    const index = this.#table.allocate();
    this.#growArrays();
    this.#ticks[index] = Math.min(Math.max(tick, this.#tick + 1), TICKS_MAX);
    this.#owners[index] = owner;
    this.#link(index);
    if (!this.#isRunning) this.#arm(this.#startOf(this.#slots[index]!));
    return this.#table.ticketOf(index);
  }

  /** Removes the deadline. The id of a deadline that was reported or cancelled is ignored. */
  cancel(id: number): void {
    const index = this.#table.indexOf(id);
    if (index === 0) return;
    this.#unlink(index);
    this.#table.free(index);
    if (this.#table.count === 0 && !this.#isRunning) this.#disarm();
  }

  /** Asserts that each deadline is in the slot of its tick, and that the timer is set. O(count). */
  invariants(): void {
    this.#table.invariants();
    let count = 0;
    const byLevel = new Int32Array(LEVELS);
    for (let slot = 0; slot < LEVELS * SLOTS; slot++) {
      for (let index = this.#heads[slot]!, before = 0; index !== 0; index = this.#next[index]!) {
        assert.equal(this.#previous[index], before, 'the previous deadline');
        assert.equal(this.#slots[index], slot, 'slot of a deadline');
        assert.ok(
          this.#ticks[index]! > this.#tick || this.#isRunning,
          'a deadline was not reported',
        );
        byLevel[slot >> SLOT_BITS]!++;
        count++;
        before = index;
      }
    }
    assert.equal(count, this.#table.count, 'deadlines in slots');
    assert.deepEqual(this.#levelCounts, byLevel, 'deadlines by level');
    if (!this.#isRunning) assert.equal(this.#timer !== undefined, count > 0, 'a timer is set');
  }

  #currentTick(): number {
    return Math.floor((this.#clock.now() - this.#originMs) / this.#tickMs);
  }

  #growArrays(): void {
    const { capacity } = this.#table;
    if (this.#next.length >= capacity) return;
    this.#next = growArray(this.#next, capacity);
    this.#previous = growArray(this.#previous, capacity);
    this.#slots = growArray(this.#slots, capacity);
    this.#ticks = growArray(this.#ticks, capacity);
    this.#owners = growArray(this.#owners, capacity);
  }

  #link(index: number): void {
    const tick = this.#ticks[index]!;
    const level = levelOf(tick, this.#tick);
    const slot = level * SLOTS + digit(tick, level);
    const head = this.#heads[slot]!;
    this.#slots[index] = slot;
    this.#next[index] = head;
    this.#previous[index] = 0;
    if (head !== 0) this.#previous[head] = index;
    this.#heads[slot] = index;
    this.#levelCounts[level]!++;
  }

  #unlink(index: number): void {
    const next = this.#next[index]!;
    const previous = this.#previous[index]!;
    const slot = this.#slots[index]!;
    if (next !== 0) this.#previous[next] = previous;
    if (previous !== 0) this.#next[previous] = next;
    else this.#heads[slot] = next;
    this.#levelCounts[slot >> SLOT_BITS]!--;
  }

  #runDue(): void {
    this.#timer = undefined;
    this.#timerTick = Number.POSITIVE_INFINITY;
    this.#isRunning = true;
    try {
      const now = this.#currentTick();
      for (let slot = this.#nextSlot(); slot >= 0; slot = this.#nextSlot()) {
        const start = this.#startOf(slot);
        if (start > now) break;
        this.#tick = start;
        this.#empty(slot);
      }
    } finally {
      this.#isRunning = false;
      const slot = this.#nextSlot();
      if (slot >= 0) this.#arm(this.#startOf(slot));
    }
  }

  /** Reports the deadlines of the slot, or moves them down to the levels below. */
  #empty(slot: number): void {
    for (let index = this.#heads[slot]!; index !== 0; index = this.#heads[slot]!) {
      this.#unlink(index);
      if (this.#ticks[index]! > this.#tick) {
        this.#link(index);
        continue;
      }
      const owner = this.#owners[index]!;
      this.#table.free(index);
      this.#onDue(owner);
    }
  }

  /**
   * Returns the first occupied slot, or -1. All slots of a level precede those of the level above.
   */
  #nextSlot(): number {
    for (let level = 0; level < LEVELS; level++) {
      if (this.#levelCounts[level] === 0) continue;
      for (let at = digit(this.#tick, level); at < SLOTS; at++) {
        if (this.#heads[level * SLOTS + at] !== 0) return level * SLOTS + at;
      }
    }
    return -1;
  }

  /**
   * Returns the slot's first tick: the higher digits of the current tick, then the slot's digit,
   * then zeros.
   */
  #startOf(slot: number): number {
    const width = WIDTHS[slot >> SLOT_BITS]!;
    const span = width * SLOTS;
    return Math.floor(this.#tick / span) * span + (slot & SLOT_MASK) * width;
  }

  #arm(tick: number): void {
    if (tick >= this.#timerTick) return;
    this.#disarm();
    const delayMs = this.#originMs + tick * this.#tickMs - this.#clock.now();
    this.#timerTick = tick;
    this.#timer = this.#clock.after(
      Math.min(Math.max(Math.ceil(delayMs), 0), DELAY_MS_MAX),
      this.#onTimer,
    );
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerTick = Number.POSITIVE_INFINITY;
  }
}

/** Returns the level of the highest digit in which two ticks differ; 0 for equal ticks. */
function levelOf(tick: number, other: number): number {
  const high = Math.floor(tick / LOW) ^ Math.floor(other / LOW);
  if (high !== 0) return LOW_LEVELS + topDigit(high);
  const low = (tick % LOW) ^ (other % LOW);
  return low === 0 ? 0 : topDigit(low);
}

/** Returns the position of the highest nonzero digit of a positive integer. */
function topDigit(bits: number): number {
  return Math.floor((31 - Math.clz32(bits)) / SLOT_BITS);
}

function digit(tick: number, level: number): number {
  return level < LOW_LEVELS
    ? ((tick % LOW) >> (SLOT_BITS * level)) & SLOT_MASK
    : (Math.floor(tick / LOW) >> (SLOT_BITS * (level - LOW_LEVELS))) & SLOT_MASK;
}
