/**
 * The contract of the small store that a distributed engine offers to its cluster: who is a member, and
 * the record that the members share. Types and their meaning alone.
 *
 * Steps. Each call but `onHint` is one step: atomic, by the store's clock, in one place (one hash slot).
 * Its promise settles within a bounded time. It rejects with OutcomeUnknown where the step may have been
 * made, with another error where it surely was not. The steps of one caller take effect in the order
 * called, and settle in it. A join or a change of the record that was answered survives what an acknowledged
 * change of the engine's data survives. A beat, a leave and a stop may be undone by a failover: members
 * repeat what they know with each beat. Where other steps were undone nevertheless, members find it out
 * by what the next steps answer.
 *
 * State. The store has the record: `revision`, `version`, `text`, `admits`, and a limit, if one runs: its
 * `begun` and its end. It has the members, each as in StoredMember with its place, the time of its own last
 * beat or join, and the end of its lease; the members that were replaced, with the ends of theirs; the
 * number of the last join; `stopsUpTo`; the time of the last beat; and the addresses that left. A store
 * that was never used has no member, no limit, no address, revision 0, version '', text '', admits
 * ADMITS_ALL, numbers and times 0. All of it is kept while nobody runs.
 *
 * Time. A beat or a join begins so: `gap` is the store's time since the last beat or join, by whichever
 * member. Where it is negative (another server's clock), or more than GAP_MS (nobody could beat), the end
 * of each lease and that of the limit move by it; a gap over GAP_MS counts without BEAT_MS. Where the
 * step is the first one on another server, each lease ends its whole duration from now at the earliest, as
 * the server may lack the last beats. Then, but for the caller's, each member is removed whose lease has
 * ended: its end is not after the store's time. So time without the store counts against nobody. Other
 * steps neither move nor remove.
 *
 * Removal. A member that is removed, or leaves, is a member no more. While `admits` is not ADMITS_ALL,
 * its address becomes one that left.
 *
 * Replacement. A join removes a member of its address that has not beaten for REPLACED_MS. That time is not
 * moved. The address may be used twice by mistake, and the member removed may act by its lease: it counts
 * as replaced until that has ended, and its items are returned only then.
 *
 * Places. Each member has a place from 0 to PLACES - 1 that no other member has, nor one that was replaced.
 * It is that of the join's number, modulo PLACES, or the next free one: a place is not given again soon.
 *
 * Incarnations. A member is known by its uuid and the number of its join together: a step for another
 * pair is answered OUT. So nothing of an earlier life counts for a later one, and a number that a failover
 * has given twice does no harm.
 *
 * Values are small, but for `text`, and survive JSON: numbers are integers below 2^53, no field is missing.
 */

/** The time between the beats of a member, in milliseconds. */
export const BEAT_MS = 1000;
/** A longer time without the beat of any member is time in which nobody could beat. */
export const GAP_MS = 2 * BEAT_MS;

/** A member that has not beaten for this time may be replaced by a join from its address, in ms. */
export const REPLACED_MS = 3 * BEAT_MS;
/** Members that a cluster can have, with those that were replaced. */
export const PLACES = 256;
/** A join is refused while the items of this many former members are to be returned. */
export const FORMER_MAX = 256;

/** Anybody may join. */
export const ADMITS_ALL = 0;
/** Only a member may join whose address left since nobody else may. */
export const ADMITS_RETURNED = 1;

export type Admission = typeof ADMITS_ALL | typeof ADMITS_RETURNED;

/** No limit runs any more. */
export const NO_LIMIT = 0;
/** The limit runs on, if one does. */
export const SAME_LIMIT = -1;

export interface Incarnation {
  /** Of the member's process. */
  readonly uuid: string;
  /** From 1; each join has a greater one than those before. */
  readonly joinNumber: number;
}

export interface StoredMember extends Incarnation {
  /** As in MemberInfo. */
  readonly address: string;
  /** Version of the member, not `major.minor` alone. */
  readonly memberVersion: string;
  readonly isLite: boolean;
  /**
   * The member acts by the record of this revision; where that began a limit, nothing is under way any
   * more that the member began before.
   */
  readonly confirmed: number;
}

/** The cluster as of a step. */
export interface ClusterView {
  /** The store's time, in milliseconds since 1970. */
  readonly nowMs: number;
  /**
   * Of the record. A change sets it to the store's time in milliseconds, or to one more than before where
   * that is greater. So it rises, and no change that a failover has undone has the revision of another.
   */
  readonly revision: number;
  /** Of the cluster, `major.minor`. */
  readonly version: string;
  /** The rest of the record, which the store does not read; null where the caller knows the revision. */
  readonly text: string | null;
  /** The limit that runs, also when its time is over. */
  readonly limit: {
    /** The revision of the change that began it. */
    readonly begun: number;
    /** The time until its end, in milliseconds; 0 or less when it is over. */
    readonly leftMs: number;
  } | null;
  /** Members whose join has this number, or a lower one, are to stop. */
  readonly stopsUpTo: number;
  /** By the number of their join, the lowest first. */
  readonly members: readonly StoredMember[];
  /** Members that were replaced, and whose leases have not ended. */
  readonly replacedCount: number;
}

export interface Join extends Omit<StoredMember, 'joinNumber' | 'confirmed'> {
  /** Of the cluster that the member can be in, `major.minor`. */
  readonly version: string;
  /** The member is in for so long without a beat, in milliseconds. */
  readonly leaseMs: number;
}

/** Why a member cannot join. */
export type JoinObstacle =
  /** The members of the cluster are to stop, and not all have. */
  | 'STOPPING'
  /** The cluster has another version. */
  | 'VERSION'
  /** Another member has the address. */
  | 'ADDRESS'
  /** The cluster admits only addresses that left. */
  | 'STATE'
  /** There is no free place, or FORMER_MAX former members have items that are to be returned. */
  | 'FULL';

export interface Joined {
  readonly joinNumber: number;
  /** See Places. */
  readonly place: number;
  readonly view: ClusterView;
}

export interface NotJoined {
  readonly obstacle: JoinObstacle;
  /** Of the cluster. */
  readonly version: string;
  readonly stopsUpTo: number;
}

/** A step of a member that says again which members are to stop, as a failover may have undone that. */
export interface Leave extends Incarnation {
  /** The highest `stopsUpTo` that the member knows. */
  readonly stopsUpTo: number;
}

export interface Beat extends Leave {
  readonly leaseMs: number;
  /** The revision of the record that the member knows. */
  readonly known: number;
  /** See StoredMember: `known`, or a lower one. */
  readonly confirmed: number;
}

/** The caller is no member. */
export interface Out {
  readonly out: true;
  readonly stopsUpTo: number;
}

/** The store takes no steps now, of whichever member: nobody is removed, and nothing changes. */
export interface Refused {
  readonly refused: true;
}

export interface RecordChange extends Incarnation {
  /** The revision that the change is of. */
  readonly revision: number;
  readonly text: string;
  readonly admits: Admission;
  /** The time of a limit that begins now, in milliseconds; or NO_LIMIT, or SAME_LIMIT. */
  readonly limitMs: number;
}

export interface ChangeAnswer {
  /** Whether the record had the revision: else nothing was changed. */
  readonly isMade: boolean;
  /** As of after the change; `text` is null where it was made. */
  readonly view: ClusterView;
}

export interface MemberStore {
  /**
   * After the removals, a member of this uuid is removed, too: it is the caller's own, from a join whose
   * answer it did not get. Then one that the caller replaces is. Then the first of these that is true is the
   * obstacle:
   * STOPPING: a member's number is not above `stopsUpTo`;
   * VERSION: there are members, and the version is not the cluster's;
   * ADDRESS: a member has this address;
   * STATE: there are members, `admits` is ADMITS_RETURNED, and the address is not one that left;
   * FULL: see JoinObstacle.
   *
   * Without an obstacle: the version becomes the cluster's, as a change of the record where it differs;
   * a limit that runs in a cluster without members is over; the address is none that left any more. The
   * member's number is one more than the last; its lease ends `leaseMs` from now; it has `confirmed` the
   * present revision, as nothing that it began is under way. The answer's view has the text.
   *
   * Rejects with a GridError where this member cannot use the store, and trying again does not help.
   */
  join(join: Join): Promise<Joined | NotJoined>;
  /**
   * The caller's lease ends `leaseMs` from now, also where it had ended; the others are removed as above.
   * Where `known` is the record's revision, `confirmed` is the caller's from now on; otherwise it stays,
   * and the view has the text. Members up to `stopsUpTo` are to stop, whether the caller is a member or not;
   * joins have higher numbers from now on.
   */
  beat(beat: Beat): Promise<ClusterView | Out | Refused>;
  /**
   * The caller is no member any more; nothing happens where it was none. `stopsUpTo` counts as in a beat.
   */
  leave(member: Leave): Promise<void>;
  /**
   * Where the record has the revision, it has this text, `admits` and limit from now on, and another
   * revision. Where it admits all then, no address is one that left. The view has the text where the
   * revision was another one.
   */
  change(change: RecordChange): Promise<ChangeAnswer | Out>;
  /** `stopsUpTo` becomes the number of the last join. The view has no text. */
  stopAll(member: Incarnation): Promise<ClusterView | Out>;
  /**
   * Calls the listener when the record, the members, a member's `confirmed` or `stopsUpTo` may have
   * changed, by whichever member. It is a hint, which may be missing: beats tell the truth.
   */
  onHint(listener: () => void): void;
  /**
   * Calls the listener when steps go to another server from now on, as the former one is no primary any
   * more: no beat that the former one has answered gives a lease.
   */
  onMoved(listener: () => void): void;
}
