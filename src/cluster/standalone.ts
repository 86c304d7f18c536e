/**
 * The cluster of a single member: always one member, always safe. A change of its state has two steps,
 * as in any cluster: IN_TRANSITION while the new state is stored, then the new state. Where the state
 * cannot be stored, the old one stays.
 */
import { randomUUID } from 'node:crypto';
import { GridError } from '../base/errors.ts';
import type {
  Cluster,
  ClusterRecord,
  ClusterState,
  MemberInfo,
  NodeState,
  SettledState,
} from './cluster.ts';

/** Stores nothing: without persistence each start is ACTIVE. */
const FORGETFUL: ClusterRecord = { isSafe: true, saveState: () => Promise.resolve() };

export class StandaloneCluster implements Cluster {
  readonly migrationQueueSize = 0;
  /** `major.minor` of the member, the only version that it can run as. */
  readonly version: string;
  members: readonly MemberInfo[] = [];
  isReady = false;
  takesWrites = true;
  readonly #memberVersion: string;
  /** New at each start, unless stored. */
  uuid: string = randomUUID();
  readonly #record: ClusterRecord;
  readonly #passiveListeners: (() => void)[] = [];
  #isStarted = false;
  #state: SettledState = 'ACTIVE';
  #isChanging = false;

  constructor(memberVersion: string, record: ClusterRecord = FORGETFUL) {
    this.#memberVersion = memberVersion;
    this.version = memberVersion.split('.', 2).join('.');
    this.#record = record;
  }

  get isSafe(): boolean {
    return this.#record.isSafe;
  }

  get state(): ClusterState {
    return this.#isChanging ? 'IN_TRANSITION' : this.#state;
  }

  get nodeState(): NodeState {
    if (!this.#isStarted) return 'STARTING';
    return this.#state === 'PASSIVE' ? 'PASSIVE' : 'ACTIVE';
  }

  onPassive(listener: () => void): void {
    this.#passiveListeners.push(listener);
  }

  /** Takes the stored uuid and state; called before the start. */
  restore(uuid: string, state: SettledState): void {
    this.uuid = uuid;
    this.#settle(state);
  }

  /** The member serves at `address`, in the form of MemberInfo. */
  start(address: string): void {
    this.members = [
      {
        address,
        liteMember: false,
        localMember: true,
        uuid: this.uuid,
        memberVersion: this.#memberVersion,
      },
    ];
    this.#isStarted = true;
    this.isReady = true;
  }

  /** The member drains. */
  stop(): void {
    this.isReady = false;
  }

  async changeState(state: SettledState): Promise<void> {
    if (this.#isChanging) throw new GridError('STATE_CHANGING', { state });
    if (state === this.#state) throw new GridError('STATE_UNCHANGED', { state });
    this.#isChanging = true;
    try {
      await this.#record.saveState(state);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new GridError('STATE_NOT_REACHED', { state, reason }, { cause });
    } finally {
      this.#isChanging = false;
    }
    this.#settle(state);
  }

  async changeVersion(version: string): Promise<void> {
    if (version === this.version) return;
    throw new GridError('VERSION_NOT_SUPPORTED', { version, memberVersion: this.#memberVersion });
  }

  #settle(state: SettledState): void {
    this.#state = state;
    this.takesWrites = state !== 'PASSIVE';
    if (this.takesWrites) return;
    for (const listener of this.#passiveListeners) listener();
  }
}
