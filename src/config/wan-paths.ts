/** Patterns of the sections of WAN replication, as in statements. */

export const REPLICATION_PATTERN = 'wan-replication.{name}';
export const PUBLISHER_PATH = `${REPLICATION_PATTERN}.batch-publisher.{name}`;
/** A publisher in XML. */
export const PUBLISHER_ITEM = `${REPLICATION_PATTERN}.batch-publisher.[]`;
/** A map's reference to a replication. */
export const REF_PATH = 'map.{name}.wan-replication-ref.{name}';
export const ENDPOINT_PATTERN = 'advanced-network.wan-endpoint-config.{name}';
