/**
 * The CP members: the members of the cluster that belong to the CP subsystem. A member that stores its
 * data itself is a subsystem of one. Those on servers have an entry with the list, which is changed by
 * conditional sets: by each member when it joins and leaves, and by the oldest member of the cluster for
 * members that are gone. Tested by cp-members.spec.ts.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { GridError } from '../base/errors.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Version } from '../engine/version.ts';
import type { CpConfig } from './cp-settings.ts';
import type { CpStore } from './cp-store.ts';
import { promised } from './steps.ts';

export interface CpMember {
  readonly uuid: string;
  /** `host:port`. */
  readonly address: string;
}

export interface CpMembers {
  /** Whether several members share the store. */
  readonly isShared: boolean;
  /** Returns the CP members, in the order in which they became CP members. */
  all(): Promise<readonly CpMember[]>;
  /** Makes this member a CP member, unless it is one. */
  addOwn(): Promise<void>;
  /**
   * Removes a CP member that is gone. Returns whether there was one. Rejects with GridError
   * CP_MEMBER_ALIVE.
   */
  remove(uuid: string): Promise<boolean>;
  /** Whether this member is the one that may reset the subsystem. */
  isMaster(): boolean;
  /** Called when the member has joined the cluster. Never rejects. */
  join(): Promise<void>;
  /** Called before the member leaves the cluster. Never rejects. */
  leave(): Promise<void>;
}

type Members = Pick<Cluster, 'members'>;

/** A subsystem of one member. */
export class SingleCpMember implements CpMembers {
  readonly isShared = false;
  readonly #cluster: Members;

  constructor(cluster: Members) {
    this.#cluster = cluster;
  }

  async all(): Promise<readonly CpMember[]> {
    return this.#cluster.members.map(({ uuid, address }) => ({ uuid, address }));
  }

  async addOwn(): Promise<void> {}

  async remove(uuid: string): Promise<boolean> {
    const isOwn = this.#cluster.members.some((member) => member.uuid === uuid);
    if (isOwn) throw new GridError('CP_MEMBER_ALIVE', { uuid });
    return false;
  }

  isMaster(): boolean {
    return true;
  }

  async join(): Promise<void> {}

  async leave(): Promise<void> {}
}

const KEY = 'members';
/** Interval at which the list is reviewed, in ms. */
const REVIEW_MS = 5000;

/** A CP member as it is stored. */
interface StoredMember extends CpMember {
  /** Time at which it was first seen to be gone, in ms since 1970. */
  readonly goneSince?: number;
}

/** Returns the list in place of one that was read; undefined for no change. */
type Change = (members: readonly StoredMember[]) => readonly StoredMember[] | undefined;

interface SharedCpMembersParts {
  readonly store: CpStore;
  readonly cluster: Members;
  readonly clock: Pick<Clock, 'after' | 'wall'>;
  readonly config: Pick<CpConfig, 'cpMemberCount' | 'cpRemovalSeconds'>;
}

/** A subsystem of the members that share servers. */
export class SharedCpMembers implements CpMembers {
  readonly isShared = true;
  readonly #parts: SharedCpMembersParts;
  #timer: Timer | undefined;
  /** Whether the list has been changed for the join of this member. */
  #hasJoined = false;
  /** The review that was begun last. */
  #reviewing: Promise<void> | undefined;
  /** Whether the member has left. */
  #isOver = false;

  constructor(parts: SharedCpMembersParts) {
    this.#parts = parts;
  }

  async all(): Promise<readonly CpMember[]> {
    const { members } = await this.#load();
    return members.map(({ uuid, address }) => ({ uuid, address }));
  }

  async addOwn(): Promise<void> {
    await this.#change((members) => this.#withOwn(members));
  }

  async remove(uuid: string): Promise<boolean> {
    let isListed = false;
    await this.#change((members) => {
      isListed = members.some((member) => member.uuid === uuid);
      if (!isListed) return undefined;
      if (this.#isAlive(uuid)) throw new GridError('CP_MEMBER_ALIVE', { uuid });
      return members.filter((member) => member.uuid !== uuid);
    });
    return isListed;
  }

  isMaster(): boolean {
    return this.#parts.cluster.members[0]?.localMember === true;
  }

  async join(): Promise<void> {
    await this.#beginReview();
  }

  /** If the engine cannot remove the member, it remains listed like one that is gone. */
  async leave(): Promise<void> {
    this.#isOver = true;
    this.#timer?.cancel();
    await this.#reviewing;
    const own = this.#own();
    if (own === undefined || !this.#hasJoined) return;
    await this.#change((members) => {
      const others = members.filter(({ uuid }) => uuid !== own.uuid);
      return others.length === members.length ? undefined : others;
    }).catch(() => {});
  }

  #beginReview(): Promise<void> {
    this.#reviewing = this.#review();
    return this.#reviewing;
  }

  /** Reviews the list, now and from time to time. If the engine fails, the next review does it. */
  async #review(): Promise<void> {
    try {
      await this.#addAtJoin();
      if (this.isMaster()) await this.#change((members) => this.#reviewed(members));
    } catch {
      // The engine cannot do it now.
    }
    if (this.#isOver) return;
    this.#timer = this.#parts.clock.after(REVIEW_MS, () => void this.#beginReview());
  }

  /** Adds this member, once. If all members are CP members, it is added again after a removal. */
  async #addAtJoin(): Promise<void> {
    const { cpMemberCount: count } = this.#parts.config;
    if (this.#isOver || (this.#hasJoined && count > 0)) return;
    await this.#change((members) => {
      return count === 0 || members.length < count ? this.#withOwn(members) : undefined;
    });
    this.#hasJoined = true;
  }

  /** Returns the list with this member; undefined if it is listed. */
  #withOwn(members: readonly StoredMember[]): readonly StoredMember[] | undefined {
    const own = this.#own();
    if (own === undefined || members.some(({ uuid }) => uuid === own.uuid)) return undefined;
    return [...members, { uuid: own.uuid, address: own.address }];
  }

  /** Marks members that are gone, and removes those that have been gone for the time of the setting. */
  #reviewed(members: readonly StoredMember[]): readonly StoredMember[] | undefined {
    const { clock, config } = this.#parts;
    const nowMs = clock.wall();
    const removalMs = config.cpRemovalSeconds * 1000;
    let isChanged = false;
    const next: StoredMember[] = [];
    for (const member of members) {
      const { uuid, address, goneSince } = member;
      const isAlive = this.#isAlive(uuid);
      if (isAlive && goneSince !== undefined) next.push({ uuid, address });
      else if (isAlive) next.push(member);
      else if (goneSince === undefined) next.push({ uuid, address, goneSince: nowMs });
      else if (removalMs === 0 || nowMs - goneSince < removalMs) next.push(member);
      isChanged ||= next.at(-1) !== member;
    }
    return isChanged ? next : undefined;
  }

  #own() {
    return this.#parts.cluster.members.find(({ localMember }) => localMember);
  }

  #isAlive(uuid: string): boolean {
    return this.#parts.cluster.members.some((member) => member.uuid === uuid);
  }

  async #change(change: Change): Promise<void> {
    for (;;) {
      const read = await this.#load();
      const next = change(read.members);
      if (next === undefined) return;
      const condition =
        read.version === undefined ? { isPresent: false } : { oneOf: [read.version] };
      const text = JSON.stringify({ members: next });
      const version = await promised(this.#parts.store.set(KEY, text, condition));
      if (version !== undefined) return;
    }
  }

  async #load(): Promise<{ members: readonly StoredMember[]; version: Version | undefined }> {
    const entry = await promised(this.#parts.store.get(KEY));
    if (entry === undefined) return { members: [], version: undefined };
    const { members } = JSON.parse(entry.text) as { readonly members: readonly StoredMember[] };
    return { members, version: entry.version };
  }
}
