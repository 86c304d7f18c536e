/**
 * The contract by which the members of a cluster announce to one another in which partitions they have
 * made changes that WAN replication sends. A message is a hint: it may be lost, and is not repeated.
 * Tested by redis/redis-membership-store.spec.ts.
 */
export interface ChangedPartitions {
  /** Sends a message to all members. Bit `n % 8` of byte `n / 8` stands for partition n. */
  announce(partitions: Uint8Array): void;
  /** Registers a listener for the messages of all members, this one included. */
  onAnnounced(listener: (partitions: Uint8Array) => void): void;
}
