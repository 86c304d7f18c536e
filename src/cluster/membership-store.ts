/**
 * The contract of the small store that a distributed engine offers to its cluster: the list of
 * members, and the record that the members share. This file has only types and their semantics.
 *
 * Steps. Each call except `onHint` is one step: atomic, timed by the store's clock, in one place
 * (one hash slot). Its promise settles within a bounded time. It rejects with OutcomeUnknown if the
 * step may have been made, and with another error if it certainly was not. The steps of one caller
 * take effect, and settle, in the order of the calls. A completed join or record change is as
 * durable as an acknowledged change of the engine's data. A heartbeat, a leave and a stop may be
 * undone by a failover: members repeat the state they have seen with each heartbeat. If other steps
 * were undone nevertheless, members detect it from the results of the next steps.
 *
 * State. The store contains the record: `revision`, `version`, `config`, `text`, `admits`, and a
 * limit, if one is running: its `begun` and its end. It also contains the members, each with the
 * fields of StoredMember, its place, the time of its last heartbeat or join, and the end of its
 * lease; the replaced members, with the ends of their leases; the number of the last join;
 * `stopsUpTo`; the time of the last heartbeat; and the addresses that left. A store that was never
 * used has no member, no limit, no address, revision 0, version '', config '', text '', admits
 * ADMITS_ALL, and zero for all numbers and times. The state is retained while no member runs.
 *
 * Time. A heartbeat or a join begins as follows. `gap` is the store's time since the last heartbeat
 * or join of any member. If it is negative (another server's clock) or over GAP_MS (no member could
 * reach the store), the end of every lease and of the limit is shifted by it; a gap over GAP_MS is
 * first reduced by HEARTBEAT_MS. If the step is the first on another server, each lease is extended
 * to end no earlier than its full duration from now, as the server may lack the last heartbeats.
 * Then each member other than the caller whose lease has ended is removed; a lease has ended if its
 * end is not after the store's time. So time without the store expires no member. Other steps
 * neither shift nor remove.
 *
 * Removal. A member that is removed, or leaves, is no longer a member. While `admits` is not
 * ADMITS_ALL, its address is added to those that left.
 *
 * Replacement. A join removes a member with the same address that has sent no heartbeat for
 * REPLACED_MS. That time is not shifted. The address may be used twice by mistake, and the removed
 * member may still act under its lease: it counts as replaced until the lease has ended, and its
 * items are returned only then.
 *
 * Places. Each member has a place from 0 to PLACES - 1 that no other member and no replaced one
 * has. It is the number of the join, modulo PLACES, or the next free place, so that a place is not
 * reused soon.
 *
 * Incarnations. A member is identified by its uuid together with the number of its join: the result
 * of a step for another pair is OUT. So nothing from an earlier life applies to a later one, and a
 * number that a failover has assigned twice does no harm.
 *
 * Values are small, except `text` and `config`, and survive JSON: numbers are integers below 2^53,
 * no field is missing.
 */

/** Interval between the heartbeats of a member, in ms. */
export const HEARTBEAT_MS = 1000;
/**
 * Time without any member's heartbeat above which the store is assumed to have been unreachable, in
 * ms.
 */
export const GAP_MS = 2 * HEARTBEAT_MS;

/**
 * Time without a heartbeat after which a join from the same address may replace a member, in ms.
 */
export const REPLACED_MS = 3 * HEARTBEAT_MS;
/** Maximum number of members of a cluster, including replaced ones. */
export const PLACES = 256;
/**
 * Maximum number of former members whose items are still to be returned; above it, joins are
 * refused.
 */
export const FORMER_MAX = 256;

/** Any member may join. */
export const ADMITS_ALL = 0;
/** Only members whose addresses left since joins were restricted may join. */
export const ADMITS_RETURNED = 1;

export type Admission = typeof ADMITS_ALL | typeof ADMITS_RETURNED;

/** Ends the limit. */
export const NO_LIMIT = 0;
/** Leaves the limit unchanged. */
export const SAME_LIMIT = -1;

export interface Incarnation {
  /** UUID of the member's process. */
  readonly uuid: string;
  /** Number of the join, from 1; greater than the number of every earlier join. */
  readonly joinNumber: number;
}

export interface StoredMember extends Incarnation {
  /** The address, in the form of MemberInfo. */
  readonly address: string;
  /** Full version of the member, not only `major.minor`. */
  readonly memberVersion: string;
  readonly isLite: boolean;
  /**
   * The revision of the record that the member has read. If that revision began a limit, no change
   * that the member began before it is in progress any more.
   */
  readonly confirmed: number;
  /** The revision of the record that the member acts on: all added configuration is in force. */
  readonly applied: number;
}

/** The cluster as of a step. */
export interface ClusterView {
  /** The store's time, in milliseconds since 1970. */
  readonly nowMs: number;
  /**
   * Revision of the record. A change sets it to the store's time in milliseconds, or to the old
   * revision plus one if that is greater. So it always rises, and a change that a failover has
   * undone never shares its revision with another.
   */
  readonly revision: number;
  /** Version of the cluster, `major.minor`. */
  readonly version: string;
  /**
   * The rest of the record, which the store does not interpret; null if the caller has this
   * revision.
   */
  readonly text: string | null;
  /** The running limit, even if its time is over. */
  readonly limit: {
    /** The revision of the change that began it. */
    readonly begun: number;
    /** Time until its end, in ms; 0 or less when it is over. */
    readonly leftMs: number;
  } | null;
  /** Members whose joins have this number or a lower one must stop. */
  readonly stopsUpTo: number;
  /** The members in ascending order of their join numbers. */
  readonly members: readonly StoredMember[];
  /** Number of replaced members whose leases have not ended. */
  readonly replacedCount: number;
}

export interface Join extends Omit<StoredMember, 'joinNumber' | 'confirmed' | 'applied'> {
  /** The cluster version that the member can run in, `major.minor`. */
  readonly version: string;
  /** The settings that all members must have in common, which the store does not interpret. */
  readonly config: string;
  /** Time without a heartbeat after which the member is removed, in ms. */
  readonly leaseMs: number;
}

/** Why a member cannot join. */
export type JoinObstacle =
  /** The members of the cluster must stop, and some have not stopped yet. */
  | 'STOPPING'
  /** The cluster has another version. */
  | 'VERSION'
  /** The members of the cluster have other settings. */
  | 'CONFIG'
  /** Another member has the address. */
  | 'ADDRESS'
  /** The cluster admits only addresses that left. */
  | 'STATE'
  /**
   * There is no free place, or FORMER_MAX former members have items that are still to be returned.
   */
  | 'FULL';

export interface Joined {
  readonly joinNumber: number;
  /** The member's place; see Places. */
  readonly place: number;
  readonly view: ClusterView;
}

export interface NotJoined {
  readonly obstacle: JoinObstacle;
  /** Version of the cluster. */
  readonly version: string;
  readonly stopsUpTo: number;
  /** The settings of the members, if the obstacle is CONFIG. */
  readonly config?: string;
}

/**
 * A step of a member that also repeats which members must stop, as a failover may have undone that.
 */
export interface Leave extends Incarnation {
  /** The highest `stopsUpTo` that the member has received. */
  readonly stopsUpTo: number;
}

export interface Heartbeat extends Leave {
  readonly leaseMs: number;
  /** The revision of the record that the member has. */
  readonly known: number;
  /** `known` or a lower revision; see StoredMember. */
  readonly confirmed: number;
  /** `known` or a lower revision; see StoredMember. */
  readonly applied: number;
}

/** The caller is not a member. */
export interface Out {
  readonly out: true;
  readonly stopsUpTo: number;
}

/**
 * The store currently accepts no steps of any member: nobody is removed, and nothing changes. It
 * only reads.
 */
export interface Refused {
  /**
   * Time until the end of the caller's lease, in ms, as a heartbeat of another member would find it
   * now: with the shift after a gap and the extension on another server. 0 or less if that would
   * remove the caller. A later heartbeat finds no less of it.
   */
  readonly leftMs: number;
  readonly view: ClusterView;
}

export interface RecordChange extends Incarnation {
  /** The revision that the change is based on. */
  readonly revision: number;
  readonly text: string;
  readonly admits: Admission;
  /** Duration of a limit that begins now, in ms; or NO_LIMIT, or SAME_LIMIT. */
  readonly limitMs: number;
}

export interface ChangeResult {
  /** Whether the record had the revision: otherwise nothing was changed. */
  readonly isMade: boolean;
  /** The view after the change; `text` is null if the change was made. */
  readonly view: ClusterView;
}

export interface MembershipStore {
  /**
   * Joins the cluster. After the removals, a member with this uuid is also removed: the caller has
   * created it in a join whose result did not arrive. Then a member that the caller replaces is
   * removed. Then the obstacle is the first of these that is true:
   * - STOPPING: a member's number is not above `stopsUpTo`;
   * - VERSION: there are members, and the version is not the cluster's;
   * - CONFIG: there are members, and `config` is not the cluster's;
   * - ADDRESS: a member has this address;
   * - STATE: there are members, `admits` is ADMITS_RETURNED, and the address is not one that left;
   * - FULL: see JoinObstacle.
   *
   * Without an obstacle, the version becomes the cluster's, as a change of the record if it
   * differs; `config` becomes the cluster's; a limit running in a cluster without members ends; and
   * the address is removed from those that left. The member's number is one more than the last; its
   * lease ends `leaseMs` from now; it has `confirmed` and `applied` the current revision, as it has no
   * changes in progress and makes none before it acts on the record. The view of the result contains
   * the text.
   *
   * Rejects with a GridError if this member cannot use the store and a retry does not help.
   */
  join(join: Join): Promise<Joined | NotJoined>;
  /**
   * Renews the caller's lease to end `leaseMs` from now, even if it had ended; the other members
   * are removed as described above. If `known` is the record's revision, the caller's `confirmed`
   * and `applied` are stored; otherwise they remain, and the view contains the text. Members up to
   * `stopsUpTo` must stop, whether or not the caller is a member; joins have higher numbers from now
   * on.
   */
  heartbeat(heartbeat: Heartbeat): Promise<ClusterView | Out | Refused>;
  /**
   * Removes the caller from the members, if it is one. `stopsUpTo` has the same effect as in a
   * heartbeat.
   */
  leave(member: Leave): Promise<void>;
  /**
   * Sets the text, `admits` and limit of the record, and a new revision, if the record still has
   * the given revision. If it admits all afterwards, the addresses that left are discarded. The
   * view contains the text if the record had another revision.
   */
  change(change: RecordChange): Promise<ChangeResult | Out>;
  /** Sets `stopsUpTo` to the number of the last join. The view has no text. */
  stopAll(member: Incarnation): Promise<ClusterView | Out>;
  /**
   * Registers a listener that is called when the record, the members, a member's `confirmed`
   * or `applied`, or `stopsUpTo` may have changed, through any member. It is only a hint and may be missing:
   * heartbeats return the actual state.
   */
  onHint(listener: () => void): void;
  /**
   * Registers a listener that is called when steps are sent to another server from now on, because
   * the former one is no longer a primary: no heartbeat that the former one has answered extends a
   * lease.
   */
  onMoved(listener: () => void): void;
}
