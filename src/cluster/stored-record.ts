/**
 * The shared record of a cluster of several members, which a MembershipStore stores. In addition to
 * the shared values it contains the state change in progress, and the outcome of the last one. It
 * is stored as JSON; fields that this version does not know are preserved.
 * Tested by shared-cluster.spec.ts.
 */
import assert from 'node:assert';
import { CLUSTER_STATES, type SettledState } from './cluster.ts';
import type { MemberConfirmations } from './member-confirmations.ts';
import type { OwnChange } from './membership.ts';
import {
  ADMITS_ALL,
  ADMITS_RETURNED,
  type Admission,
  type ClusterView,
  NO_LIMIT,
  SAME_LIMIT,
} from './membership-store.ts';
import type { AddedConfig, RecordListener, SharedRecord, SharedValues } from './shared-record.ts';
import type { SharedTask } from './shared-task.ts';

/** Maximum length of the text, in characters. Each member reads all of it after each change. */
const TEXT_LENGTH_MAX = 8 * 1024 * 1024;

/** A state change that is in progress. */
export interface Transition {
  /** Unique id of the change. */
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
  readonly dataSetId?: string | undefined;
  readonly wanEpoch?: number | undefined;
  readonly wanTasks?: readonly SharedTask[] | undefined;
  readonly wanWalks?: number | undefined;
  readonly transition?: Transition | undefined;
  /** The last change that ended. */
  readonly ended?: EndedTransition;
}

/** Makes a change if the record still has the revision; see Membership.change. */
type Make = (change: OwnChange) => Promise<boolean>;

export class StoredRecord implements SharedRecord {
  readonly isShared = true;
  #text: RecordText = EMPTY;
  #values: SharedValues;
  #revision = 0;
  readonly #make: Make;
  readonly #confirmations: MemberConfirmations;
  readonly #listeners: RecordListener[] = [];
  /**
   * Resolves once the listeners have processed the values that they were last called with: with
   * whether this member acts on them.
   */
  isApplied: Promise<boolean> = Promise.resolve(true);

  /** `version` is the cluster version that the member can run in. */
  constructor(version: string, make: Make, confirmations: MemberConfirmations) {
    this.#values = valuesOf(EMPTY, version);
    this.#make = make;
    this.#confirmations = confirmations;
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

  /**
   * Rejects as the store does, with RangeError if the record becomes too long, and while the member
   * is not in the cluster.
   */
  async compareAndSet(revision: number, change: Partial<SharedValues>): Promise<boolean> {
    assert(change.state === undefined && change.version === undefined);
    return await this.#set(revision, { ...this.#text, ...change }, SAME_LIMIT);
  }

  /** Begins a state change. Resolves as compareAndSet does. */
  async begin(transition: Transition, limitMs: number): Promise<boolean> {
    return await this.#set(this.#revision, { ...this.#text, transition }, limitMs);
  }

  /** Ends the state change that is in progress. */
  async end({ id, to }: Transition, isReached: boolean): Promise<boolean> {
    const { transition: _, ...text } = this.#text;
    const state = isReached ? to : text.state;
    const next = { ...text, state, ended: { id, isReached } };
    return await this.#set(this.#revision, next, NO_LIMIT);
  }

  onChange(listener: RecordListener): void {
    this.#listeners.push(listener);
  }

  async allConfirmed(): Promise<boolean> {
    return await this.#confirmations.of(this.#revision, 'confirmed');
  }

  async allApplied(): Promise<boolean> {
    return await this.#confirmations.of(this.#revision, 'applied');
  }

  get unapplied(): readonly string[] {
    return this.#confirmations.missing(this.#revision, 'applied');
  }

  /**
   * Updates the record from a step's view; `text` is undefined if it is unchanged. Throws
   * SyntaxError or RangeError for a text that no member of this version writes.
   */
  update({ revision, version }: ClusterView, text: string | undefined): void {
    if (text !== undefined) this.#text = parsed(text);
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#values = valuesOf(this.#text, version);
  }

  /**
   * Calls the listeners; separate from `update`, so that the cluster has processed the whole view
   * before.
   */
  notify(): void {
    const applying = this.#listeners.map((listener) => listener(this.#values) ?? true);
    this.isApplied = Promise.all(applying).then((results) => results.every(Boolean));
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
  const { dataSetId, wanEpoch, wanTasks, wanWalks } = text;
  const ofWan = { dataSetId, wanEpoch, wanTasks, wanWalks };
  return { state, version, licenseKeyHash, addedConfigs, tcpIpMembers, ...ofWan };
}

/** A cluster that changes to a closed state is as closed as one that is already in it. */
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
