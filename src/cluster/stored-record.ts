/**
 * The shared record of a cluster of several members, which a MemberStore keeps. Beside the shared values
 * it has the change of the state that is under way, and how the last one ended. The store holds it as
 * JSON; fields that this version does not know stay in it.
 */
import assert from 'node:assert';
import { CLUSTER_STATES, type SettledState } from './cluster.ts';
import {
  ADMITS_ALL,
  ADMITS_RETURNED,
  type Admission,
  type ClusterView,
  NO_LIMIT,
  SAME_LIMIT,
} from './member-store.ts';
import type { OwnChange } from './membership.ts';
import type { AddedConfig, SharedRecord, SharedValues } from './shared-record.ts';

/** Limit of the text, in characters. Each member reads all of it after each change. */
const TEXT_LENGTH_MAX = 8 * 1024 * 1024;

/** A change of the state that is under way. */
export interface Transition {
  /** A new one for each change. */
  readonly id: string;
  readonly to: SettledState;
}

interface EndedTransition {
  readonly id: string;
  readonly isReached: boolean;
}

/** The text of the record. */
interface RecordText {
  readonly state: SettledState;
  readonly licenseKeyHash?: string | undefined;
  readonly addedConfigs: readonly AddedConfig[];
  readonly tcpIpMembers?: readonly string[] | undefined;
  readonly transition?: Transition | undefined;
  /** The last one that ended. */
  readonly ended?: EndedTransition;
}

/** Makes a change where the record still has the revision; as Membership.change. */
type Make = (change: OwnChange) => Promise<boolean>;

export class StoredRecord implements SharedRecord {
  readonly isShared = true;
  #text: RecordText = EMPTY;
  #values: SharedValues;
  #revision = 0;
  readonly #make: Make;
  readonly #listeners: ((values: SharedValues) => void)[] = [];

  /** `version`: of the cluster that the member can be in. */
  constructor(version: string, make: Make) {
    this.#values = valuesOf(EMPTY, version);
    this.#make = make;
  }

  get values(): SharedValues {
    return this.#values;
  }

  get revision(): number {
    return this.#revision;
  }

  get transition(): Transition | undefined {
    return this.#text.transition;
  }

  get ended(): EndedTransition | undefined {
    return this.#text.ended;
  }

  /** Rejects as the store does, with RangeError for a record that is too long, and while not in. */
  async compareAndSet(revision: number, change: Partial<SharedValues>): Promise<boolean> {
    assert(change.state === undefined && change.version === undefined);
    return await this.#set(revision, { ...this.#text, ...change }, SAME_LIMIT);
  }

  /** Begins a change of the state. Resolves as compareAndSet. */
  async begin(transition: Transition, limitMs: number): Promise<boolean> {
    return await this.#set(this.#revision, { ...this.#text, transition }, limitMs);
  }

  /** Ends the change of the state that is under way. */
  async end({ id, to }: Transition, isReached: boolean): Promise<boolean> {
    const { transition: _, ...text } = this.#text;
    const state = isReached ? to : text.state;
    const next = { ...text, state, ended: { id, isReached } };
    return await this.#set(this.#revision, next, NO_LIMIT);
  }

  onChange(listener: (values: SharedValues) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Takes what a step has answered: `text` where it is new. Throws SyntaxError or RangeError for a text
   * that no member of this version writes.
   */
  take({ revision, version }: ClusterView, text: string | undefined): void {
    if (text !== undefined) this.#text = parsed(text);
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#values = valuesOf(this.#text, version);
  }

  /** Calls the listeners; apart from `take`, so that the cluster knows all of a view before. */
  tell(): void {
    for (const listener of this.#listeners) listener(this.#values);
  }

  async #set(revision: number, next: RecordText, limitMs: number): Promise<boolean> {
    if (revision !== this.#revision) return false;
    const text = JSON.stringify(next);
    if (text.length > TEXT_LENGTH_MAX) {
      throw new RangeError(`the shared record would have more than ${TEXT_LENGTH_MAX} characters`);
    }
    return await this.#make({ revision, text, admits: admissionOf(next), limitMs });
  }
}

const EMPTY: RecordText = { state: 'ACTIVE', addedConfigs: [] };

function valuesOf(text: RecordText, version: string): SharedValues {
  const { state, licenseKeyHash, addedConfigs, tcpIpMembers } = text;
  return { state, version, licenseKeyHash, addedConfigs, tcpIpMembers };
}

/** A cluster that goes to a closed state is as closed as one that is in it. */
function admissionOf({ state, transition }: RecordText): Admission {
  return isOpen(state) && (transition === undefined || isOpen(transition.to))
    ? ADMITS_ALL
    : ADMITS_RETURNED;
}

function isOpen(state: SettledState): boolean {
  return state === 'ACTIVE' || state === 'NO_MIGRATION';
}

function parsed(text: string): RecordText {
  if (text === '') return EMPTY;
  const found = { ...EMPTY, ...(JSON.parse(text) as Partial<RecordText>) };
  for (const state of [found.state, found.transition?.to ?? found.state]) {
    if (!CLUSTER_STATES.includes(state)) {
      throw new RangeError(`the shared record has an unknown state: ${JSON.stringify(state)}`);
    }
  }
  return found;
}
