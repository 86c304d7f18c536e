/**
 * The cluster of a single member: always one member, always safe. A change of its state has two
 * steps, as in any cluster: IN_TRANSITION while the new state is stored, then the new state. If the
 * state cannot be stored, the old one remains. Tested by administration/administration.spec.ts.
 */
import assert from 'node:assert';
import { randomUUID } from 'node:crypto';
import { GridError } from '../base/errors.ts';
import type { ClusterState, MemberInfo, NodeState, OwnCluster, SettledState } from './cluster.ts';
import { changeRecord, type SharedRecord } from './shared-record.ts';

interface StandaloneOptions {
  readonly isLite?: boolean;
  /** Whether completed changes would survive a crash as far as they are meant to. */
  readonly isDataSafe?: () => boolean;
  /** Ends the member. */
  readonly onStop?: (because: string) => void;
}

export class StandaloneCluster implements OwnCluster {
  readonly migrationQueueSize = 0;
  readonly isCutOff = false;
  members: readonly MemberInfo[] = [];
  isReady = false;
  acceptsWrites = true;
  readonly #memberVersion: string;
  readonly #record: SharedRecord;
  readonly #options: StandaloneOptions;
  #uuid: string = randomUUID();
  onPassive: () => void = () => {};
  isStarted = false;
  #isChanging = false;

  constructor(memberVersion: string, record: SharedRecord, options: StandaloneOptions = {}) {
    this.#memberVersion = memberVersion;
    this.#record = record;
    this.#options = options;
    record.onChange(({ state }) => {
      this.#settle(state);
    });
  }

  get isSafe(): boolean {
    return this.#options.isDataSafe?.() ?? true;
  }

  /** UUID of the member: new at each start, unless it is restored. */
  get uuid(): string {
    return this.#uuid;
  }

  /** Sets the UUID that was stored; called before `start`. */
  restore(uuid: string): void {
    if (this.isStarted) assert.fail('the member has already started');
    this.#uuid = uuid;
  }

  /** `major.minor` of the member, the only version that it can run. */
  get version(): string {
    return this.#record.values.version;
  }

  get state(): ClusterState {
    return this.#isChanging ? 'IN_TRANSITION' : this.#record.values.state;
  }

  get nodeState(): NodeState {
    if (!this.isStarted) return 'STARTING';
    return this.acceptsWrites ? 'ACTIVE' : 'PASSIVE';
  }

  start(address: string): void {
    this.members = [
      {
        address,
        liteMember: this.#options.isLite ?? false,
        localMember: true,
        uuid: this.#uuid,
        memberVersion: this.#memberVersion,
      },
    ];
    this.isStarted = true;
    this.isReady = true;
  }

  stop(): void {
    this.isReady = false;
  }

  async leave(): Promise<void> {}

  async stopAll(because: string): Promise<void> {
    this.#options.onStop?.(because);
  }

  async changeState(state: SettledState): Promise<void> {
    if (this.#isChanging) throw new GridError('STATE_CHANGING', { state });
    if (state === this.#record.values.state) throw new GridError('STATE_UNCHANGED', { state });
    this.#isChanging = true;
    try {
      await changeRecord(
        this.#record,
        () => ({ state }),
        (reason, options) => new GridError('STATE_NOT_REACHED', { state, reason }, options),
      );
    } finally {
      this.#isChanging = false;
    }
  }

  async changeVersion(version: string): Promise<void> {
    if (version === this.version) return;
    throw new GridError('VERSION_NOT_SUPPORTED', { version, memberVersion: this.#memberVersion });
  }

  #settle(state: SettledState): void {
    const acceptedWrites = this.acceptsWrites;
    this.acceptsWrites = state !== 'PASSIVE';
    if (acceptedWrites && !this.acceptsWrites) this.onPassive();
  }
}
