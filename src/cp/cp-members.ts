/**
 * The CP members: those of the cluster, as far as they are members of the subsystem.
 * Tested by cp-actions.spec.ts.
 */
import { GridError } from '../base/errors.ts';
import type { Cluster } from '../cluster/cluster.ts';

export interface CpMember {
  readonly uuid: string;
  /** `host:port`. */
  readonly address: string;
}

export interface CpMembers {
  /** Returns the CP members, in the order in which they became ones. */
  all(): Promise<readonly CpMember[]>;
  /** Makes this member a CP member, if it is none. */
  addOwn(): Promise<void>;
  /**
   * Removes a CP member that is gone. Returns whether there was one. Rejects with GridError
   * CP_MEMBER_ALIVE.
   */
  remove(uuid: string): Promise<boolean>;
  /** Whether this member is the one that may reset the subsystem. */
  isMaster(): boolean;
}

/** A subsystem of one member. */
export class SingleCpMember implements CpMembers {
  readonly #cluster: Pick<Cluster, 'members'>;

  constructor(cluster: Pick<Cluster, 'members'>) {
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
}
