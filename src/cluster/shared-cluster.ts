/**
 * The cluster of several members on one engine. Each member sees it as of the last result of the
 * engine's member store: at most one heartbeat old and the same on all members. Its parts are
 * Membership (whether this member is in the cluster), StoredRecord (the values that the members
 * share) and StateChanges (changes of the state).
 *
 * Data may be changed while the member has its lease and the cluster is not PASSIVE or changing to
 * PASSIVE. The engine checks `hasLease` again when it sends the changes of a turn.
 */
import { GridError, reasonOf } from '../base/errors.ts';
import {
  type ClusterState,
  clusterVersion,
  type MemberInfo,
  type NodeState,
  type OwnCluster,
  type SettledState,
} from './cluster.ts';
import { MemberConfirmations } from './member-confirmations.ts';
import { type MemberLife, Membership, type MembershipOptions } from './membership.ts';
import type { ClusterView } from './membership-store.ts';
import { StateChanges } from './state-changes.ts';
import { StoredRecord } from './stored-record.ts';

interface SharedClusterOptions extends Omit<MembershipOptions, 'listener'> {
  readonly memberVersion: string;
  readonly isLite: boolean;
  /** Time without a heartbeat after which a member is removed, in ms; at least 2 * GAP_MS. */
  readonly leaseMs: number;
  /** Whether every change is stored on the required number of replicas. */
  readonly isDataSafe: () => boolean;
  /** Ends the member. */
  readonly onStop: (because: string) => void;
}

export class SharedCluster implements OwnCluster, MemberLife {
  readonly migrationQueueSize = 0;
  members: readonly MemberInfo[] = [];
  readonly record: StoredRecord;
  readonly #options: SharedClusterOptions;
  readonly #membership: Membership;
  readonly #changes: StateChanges;
  readonly #confirmations: MemberConfirmations;
  onPassive: () => void = () => {};
  isStarted = false;
  #isDraining = false;
  /** The number of the join that the member has seen. */
  #seenJoin = 0;
  /** Whether the member has rejoined, and does not act on the record's values yet. */
  #isBehind = false;
  /** Whether the state allows changes of data. */
  #isWritable = true;
  #stopReason = 'the shutdown of the cluster, requested by a client of another member';

  constructor(options: SharedClusterOptions) {
    const { clock, work, memberVersion, leaseMs } = options;
    this.#options = options;
    const listener = {
      onView: (view: ClusterView, text: string | undefined) => this.#onView(view, text),
      onStop: () => options.onStop(this.#stopReason),
    };
    const membership = new Membership({ ...options, listener });
    this.#membership = membership;
    this.#confirmations = new MemberConfirmations(clock, leaseMs);
    this.record = new StoredRecord(
      clusterVersion(memberVersion),
      (change) => membership.change(change),
      this.#confirmations,
    );
    this.#changes = new StateChanges({ clock, work, membership, record: this.record });
  }

  get uuid(): string {
    return this.#options.uuid;
  }

  get joinNumber(): number {
    return this.#membership.joinNumber;
  }

  get hasLease(): boolean {
    return !this.#isBehind && this.#membership.hasLease;
  }

  get isCutOff(): boolean {
    return this.isStarted && !this.hasLease;
  }

  get isSafe(): boolean {
    return this.#membership.isInTouch && this.#options.isDataSafe();
  }

  get isReady(): boolean {
    return this.isStarted && !this.#isDraining && !this.#isBehind && this.#membership.isInTouch;
  }

  get acceptsWrites(): boolean {
    return this.#isWritable && !this.#isBehind && this.#membership.hadLease;
  }

  get version(): string {
    return this.record.values.version;
  }

  get state(): ClusterState {
    return this.record.transition === undefined ? this.record.values.state : 'IN_TRANSITION';
  }

  get nodeState(): NodeState {
    if (!this.isStarted) return 'STARTING';
    return this.record.values.state === 'PASSIVE' ? 'PASSIVE' : 'ACTIVE';
  }

  /**
   * Enters the cluster as the member that serves at `address` (in the form of MemberInfo), then
   * awaits `prepare`; the member has started once this has resolved. Rejects with GridError
   * CLUSTER_VERSION, and as CommonConfig does.
   */
  async start(address: string, prepare: () => Promise<void>): Promise<void> {
    const { memberVersion, isLite, leaseMs } = this.#options;
    const version = clusterVersion(memberVersion);
    await this.#membership.start({ address, memberVersion, isLite, version, leaseMs });
    await prepare();
    this.isStarted = true;
  }

  stop(): void {
    this.#isDraining = true;
  }

  async leave(): Promise<void> {
    this.#isDraining = true;
    this.#changes.close();
    this.#confirmations.close();
    await this.#membership.leave().catch(this.#options.events.onNotRemoved);
  }

  async stopAll(because: string): Promise<void> {
    this.#stopReason = because;
    await this.#membership.stopAll().catch((cause: unknown) => {
      throw new GridError('STOP_NOT_RECORDED', { reason: reasonOf(cause) }, { cause });
    });
  }

  async changeState(state: SettledState): Promise<void> {
    await this.#changes.changeState(state);
  }

  /** Members of another version cannot join, so the current version is the only possible one. */
  async changeVersion(version: string): Promise<void> {
    if (version === this.version) return;
    const { memberVersion } = this.#options;
    throw new GridError('VERSION_NOT_SUPPORTED', { version, memberVersion });
  }

  #onView(view: ClusterView, text: string | undefined): void {
    const { record } = this;
    const { revision } = record;
    record.update(view, text);
    this.members = view.members.map(({ address, isLite, uuid, memberVersion }) => ({
      address,
      liteMember: isLite,
      localMember: uuid === this.#options.uuid,
      uuid,
      memberVersion,
    }));
    this.#setWritable(record.values.state !== 'PASSIVE' && record.transition?.to !== 'PASSIVE');
    this.#isBehind ||= this.#seenJoin !== 0 && this.joinNumber !== this.#seenJoin;
    this.#seenJoin = this.joinNumber;
    if (record.revision !== revision) record.notify();
    if (this.#isBehind) void this.#catchUp();
    this.#changes.follow(view);
    this.#confirmations.follow(view);
  }

  /** Changes that were made while the member was out apply to the requests that it serves. */
  async #catchUp(): Promise<void> {
    const { isApplied } = this.record;
    if ((await isApplied) && isApplied === this.record.isApplied) this.#isBehind = false;
  }

  #setWritable(isWritable: boolean): void {
    const wasWritable = this.#isWritable;
    this.#isWritable = isWritable;
    if (wasWritable && !isWritable) this.onPassive();
  }
}
