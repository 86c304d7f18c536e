/**
 * Every setting that a member file of the original accepts in YAML, in the notation that
 * document-schema.ts reads. It has only names and types: settings.ts lists the used settings,
 * refused-settings.ts those that are refused; all others have no effect.
 * Written by `make known-tables`: see spec/config/original.
 */
export const YAML_SETTINGS = `
*: import[]=s cluster-name=s license-key=s instance-name=s properties=o listeners[]=s
config-replacers: fail-if-value-missing=b ...
 replacers[]: class-name=s properties=o ...
management-center: scripting-enabled=b console-enabled=b data-access-enabled=b
 + trusted-interfaces[]=s
wan-replication{}:
 batch-publisher{}: cluster-name=s publisher-id=s batch-size=i batch-max-delay-millis=i
  + response-timeout-millis=i acknowledge-type=ACK_ON_RECEIPT|ACK_ON_OPERATION_COMPLETE
  + initial-publisher-state=REPLICATING|PAUSED|STOPPED snapshot-enabled=b idle-max-park-ns=i
  + idle-min-park-ns=i max-concurrent-invocations=i discovery-period-seconds=i
  + use-endpoint-private-address=b
  + queue-full-behavior=DISCARD_AFTER_MUTATION|THROW_EXCEPTION
  + |THROW_EXCEPTION_ONLY_IF_REPLICATION_ACTIVE
  + properties=o max-target-endpoints=i queue-capacity=i target-endpoints=s endpoint=s
  sync: consistency-check-strategy=NONE|MERKLE_TREES
  aws: enabled=b ...
  gcp: enabled=b ...
  azure: enabled=b ...
  kubernetes: enabled=b ...
  eureka: enabled=b ...
  discovery-strategies: &discovery-strategies
 custom-publisher{}: class-name=s properties=o
 consumer: class-name=s properties=o persist-wan-replicated-data=b
network: public-address=s reuse-address=b
 port=i0..65535: port=i0..65535 port-count=i1.. auto-increment=b
 outbound-ports: []=s {}=s
 join: &join
 member-address-provider: &member-address-provider
 failure-detector: &failure-detector
 interfaces: enabled=b interfaces[]=s
 memcache-protocol: enabled=b
 ssl: &ssl
 rest-api: enabled=b
  endpoint-groups{}=a: enabled=b
 symmetric-encryption: enabled=b algorithm=s password=s salt=s iteration-count=i
 socket-interceptor: &member-address-provider
 tpc-socket: &tpc-socket
partition-group: enabled=b
 + group-type=HOST_AWARE|NODE_AWARE|CUSTOM|PER_MEMBER|ZONE_AWARE|PLACEMENT_AWARE|SPI
 + member-group[][]=s
executor-service{}: statistics-enabled=b pool-size=i1.. queue-capacity=i0..
 + split-brain-protection-ref=s user-code-namespace=s ...
durable-executor-service{}=a: statistics-enabled=b pool-size=i1.. split-brain-protection-ref=s
 + user-code-namespace=s durability=i1.. capacity=i0.. ...
scheduled-executor-service{}=a: statistics-enabled=b pool-size=i1.. split-brain-protection-ref=s
 + user-code-namespace=s durability=i1.. capacity=i0.. capacity-policy=PER_NODE|PER_PARTITION ...
 merge-policy: batch-size=i0.. class-name=s
cardinality-estimator{}: backup-count=i0..6 async-backup-count=i0..6 split-brain-protection-ref=s
 merge-policy=a: batch-size=i0.. class-name=s
queue{}: statistics-enabled=b max-size=i0.. backup-count=i0..6 async-backup-count=i0..6
 + empty-queue-ttl=i split-brain-protection-ref=s priority-comparator-class-name=s
 + user-code-namespace=s
 item-listeners[]: include-value=b class-name=s
 queue-store: enabled=b class-name=s factory-class-name=s
  properties: binary=b memory-limit=i bulk-load=i ...
 merge-policy: batch-size=i0.. class-name=s
map{}: in-memory-format=BINARY|OBJECT|NATIVE metadata-policy=CREATE_ON_UPDATE|OFF
 + statistics-enabled=b per-entry-stats-enabled=b
 + cache-deserialized-values=INDEX_ONLY|INDEX-ONLY|NEVER|ALWAYS backup-count=i0..6
 + async-backup-count=i0..6 time-to-live-seconds=i0.. max-idle-seconds=i0.. read-backup-data=b
 + partition-lost-listeners[]=s split-brain-protection-ref=s partition-strategy=s
 + user-code-namespace=s
 eviction: &eviction
 merge-policy: batch-size=i0.. class-name=s
 hot-restart: enabled=b fsync=b
 data-persistence: enabled=b fsync=b
 event-journal: enabled=b capacity=i1.. time-to-live-seconds=i0..
 merkle-tree: enabled=b depth=i2..27
 map-store: enabled=b initial-mode=LAZY|EAGER offload=b write-delay-seconds=i0..
  + write-batch-size=i1.. write-coalescing=b class-name=s factory-class-name=s properties=o
 near-cache: name=s time-to-live-seconds=i0.. max-idle-seconds=i0.. invalidate-on-change=b
  + in-memory-format=BINARY|OBJECT|NATIVE cache-local-entries=b
  + local-update-policy=INVALIDATE|CACHE_ON_UPDATE serialize-keys=b
  eviction: &eviction
 wan-replication-ref{}: merge-policy-class-name=s republishing-enabled=b filters[]=s
 indexes[]: &indexes
 attributes{}: extractor-class-name=s
 entry-listeners[]: &entry-listeners
 query-caches{}: map-name=s include-value=b in-memory-format=BINARY|OBJECT|NATIVE populate=b
  + coalesce=b serialize-keys=b delay-seconds=i0.. batch-size=i1.. buffer-size=i1..
  predicate=a: class-name=s sql=s
  entry-listeners[]: &entry-listeners
  eviction: &eviction
  indexes[]: &indexes
 tiered-store: enabled=b
  memory-tier: &memory-tier
  disk-tier: enabled=b device-name=s
 partition-attributes[]: name=s
multimap{}: backup-count=i0..6 async-backup-count=i0..6 value-collection-type=SET|LIST binary=b
 + split-brain-protection-ref=s statistics-enabled=b user-code-namespace=s
 entry-listeners[]: &entry-listeners
 merge-policy: batch-size=i0.. class-name=s
replicatedmap{}: in-memory-format=BINARY|OBJECT|NATIVE async-fillup=b statistics-enabled=b
 + split-brain-protection-ref=s user-code-namespace=s
 entry-listeners[]: &entry-listeners
 merge-policy: batch-size=i0.. class-name=s
cache{}: statistics-enabled=b management-enabled=b read-through=b write-through=b cache-loader=s
 + cache-writer=s in-memory-format=BINARY|OBJECT|NATIVE backup-count=i0..6 async-backup-count=i0..6
 + split-brain-protection-ref=s partition-lost-listeners[]=s disable-per-entry-invalidation-events=b
 + user-code-namespace=s
 key-type: class-name=s
 value-type: class-name=s
 cache-loader-factory: class-name=s
 cache-writer-factory: class-name=s
 expiry-policy-factory: class-name=s
  timed-expiry-policy-factory: expiry-policy-type=CREATED|MODIFIED|ACCESSED|TOUCHED|ETERNAL
   + duration-amount=i0.. time-unit=NANOSECONDS|MICROSECONDS|MILLISECONDS|SECONDS|MINUTES|HOURS|DAYS
 cache-entry-listeners[]: old-value-required=b synchronous=b
  cache-entry-listener-factory: class-name=s
  cache-entry-event-filter-factory: class-name=s
 eviction: &eviction
 wan-replication-ref: name=s republishing-enabled=b filters[]=s
  + merge-policy-class-name=HigherHitsMergePolicy|PassThroughMergePolicy
 merge-policy: batch-size=i0.. class-name=s
 hot-restart: enabled=b fsync=b
 data-persistence: enabled=b fsync=b
 event-journal: enabled=b capacity=i0.. time-to-live-seconds=i0..
 merkle-tree: enabled=b depth=i2..27
list{}: statistics-enabled=b max-size=i backup-count=i0..6 async-backup-count=i0..6
 + split-brain-protection-ref=s user-code-namespace=s
 item-listeners[]: include-value=b class-name=s
 merge-policy: batch-size=i0.. class-name=s
set{}: backup-count=i0..6 async-backup-count=i0..6 max-size=i0.. split-brain-protection-ref=s
 + statistics-enabled=b user-code-namespace=s
 item-listeners[]: include-value=b class-name=s
 merge-policy: batch-size=i0.. class-name=s
topic{}: global-ordering-enabled=b statistics-enabled=b multi-threading-enabled=b
 + message-listeners[]=s user-code-namespace=s
reliable-topic{}: statistics-enabled=b
 + topic-overload-policy=DISCARD_OLDEST|DISCARD_NEWEST|BLOCK|ERROR read-batch-size=i1..
 + message-listeners[]=s user-code-namespace=s
ringbuffer{}: capacity=i1.. time-to-live-seconds=i backup-count=i0..6 async-backup-count=i0..6
 + in-memory-format=OBJECT|BINARY split-brain-protection-ref=s user-code-namespace=s
 ringbuffer-store: class-name=s factory-class-name=s properties=o enabled=b
 merge-policy: batch-size=i0.. class-name=s
flake-id-generator{}: prefetch-count=i1..100000 prefetch-validity-millis=i0.. epoch-start=i
 + node-id-offset=i0.. bits-sequence=i0..63 bits-node-id=i0..63 allowed-future-millis=i0..
 + statistics-enabled=b
serialization: portable-version=i use-native-byte-order=b byte-order=BIG_ENDIAN|LITTLE_ENDIAN
 + enable-compression=b enable-shared-object=b allow-unsafe=b check-class-def-errors=b
 + allow-override-default-serializers=b
 data-serializable-factories[]: factory-id=i class-name=s
 portable-factories[]: factory-id=i class-name=s
 global-serializer: class-name=s override-java-serialization=b
 serializers[]: type-class=s class-name=s
 java-serialization-filter: &java-serialization-filter
 compact-serialization: enabled=b
  serializers[]: serializer=s
  classes[]: class=s
  zero-config-filter: &java-serialization-filter
  registered-classes[]: class=s serializer=s type-name=s
native-memory: enabled=b allocator-type=STANDARD|POOLED
 + min-block-size=1|2|4|6|8|16|32|64|128|256|512|1024|2048|4096|8192|16384|32768|65536
 + page-size=i1.. metadata-space-percentage=n1.. persistent-memory-directory=s ...
 size: &page-size
 capacity: &page-size
security: enabled=b security-interceptors[]=s client-block-unmapped-actions=b
 realms[]: name=s
  authentication: kerberos=a ...
   jaas[]: class-name=s usage=REQUIRED|REQUISITE|SUFFICIENT|OPTIONAL properties=o
   tls: roleAttribute=s
   ldap: url=s socket-factory-class-name=s parse-dn=b role-context=s role-filter=s
    + role-mapping-attribute=s role-mapping-mode=attribute|reverse|direct role-name-attribute=s
    + role-recursion-max-depth=i0.. role-search-scope=object|one-level|subtree user-name-attribute=s
    + system-user-dn=s system-user-password=s password-attribute=s user-context=s user-filter=s
    + user-search-scope=object|one-level|subtree system-authentication=s security-realm=s
   simple: role-separator=s ...
    users[]: username=s password=s roles[]=s
  identity: kerberos=a ...
   username-password: username=s password=s
   token: encoding=none|base64 value=s
   credentials-factory: class-name=s properties=o
  access-control-service: factory-class-name=s properties=o
 member-authentication: realm=s
 client-authentication: realm=s
 client-permission-policy: class-name=s properties=o
 client-permissions: on-join-operation=RECEIVE|SEND|NONE priority-grant=b
  all: &all
  config: &config
  transaction: &config
  map[]: &all
  queue[]: &all
  topic[]: &config
  multimap[]: &config
  list[]: &config
  set[]: &config
  flake-id-generator[]: &config
  lock[]: &config
  atomic-long[]: &config
  countdown-latch[]: &config
  semaphore[]: &config
  executor-service[]: &config
  durable-executor-service[]: &config
  cardinality-estimator[]: &config
  scheduled-executor[]: &config
  cache[]: &config
  user-code-deployment[]: &config
  pn-counter[]: &config
  atomic-reference[]: &config
  ring-buffer[]: &config
  reliable-topic[]: &config
  replicatedmap[]: &config
  management[]: &config
  job[]: &config
  connector[]: &config
  sql[]: &config
  cpmap[]: &config
  user-code-namespace[]: &config
  vector-collection[]: &config
  {}[]: &config
member-attributes{}: type=s value=a ...
split-brain-protection{}: enabled=b minimum-cluster-size=i2.. protect-on=READ|WRITE|READ_WRITE
 + function-class-name=s listeners[]=s member-count-split-brain-protection=a
 recently-active-split-brain-protection: heartbeat-tolerance-millis=i
 probabilistic-split-brain-protection: acceptable-heartbeat-pause-millis=i suspicion-threshold=n
  + max-sample-size=i min-std-deviation-millis=i heartbeat-interval-millis=i
lite-member: enabled=b
hot-restart-persistence: enabled=b auto-remove-stale-data=b base-dir=s backup-dir=s parallelism=i1..
 + validation-timeout-seconds=i1.. data-load-timeout-seconds=i1..
 + cluster-data-recovery-policy=%cluster-data-recovery-policy
 encryption-at-rest: &encryption-at-rest
persistence: enabled=b auto-remove-stale-data=b base-dir=s backup-dir=s parallelism=i1..
 + validation-timeout-seconds=i1.. data-load-timeout-seconds=i1..
 + cluster-data-recovery-policy=%cluster-data-recovery-policy rebalance-delay-seconds=i0..
 encryption-at-rest: &encryption-at-rest
user-code-deployment: enabled=b class-cache-mode=ETERNAL|OFF
 + provider-mode=OFF|LOCAL_CLASSES_ONLY|LOCAL_AND_CACHED_CLASSES blacklist-prefixes=s
 + whitelist-prefixes=s provider-filter=s
crdt-replication: max-concurrent-replication-targets=i1.. replication-period-millis=i1..
pn-counter{}: replica-count=i1..2147483647 split-brain-protection-ref=s statistics-enabled=b
advanced-network: enabled=b
 join: &join
 member-address-provider: &member-address-provider
 failure-detector: &failure-detector
 interfaces: enabled=b interfaces[]=s
 memcache-server-socket-endpoint-config: &memcache-server-socket-endpoint-config
 wan-server-socket-endpoint-config: &memcache-server-socket-endpoint-config
 client-server-socket-endpoint-config: &memcache-server-socket-endpoint-config
 member-server-socket-endpoint-config: &memcache-server-socket-endpoint-config
 wan-endpoint-config{}: name=s ...
  outbound-ports: []=s {}=s
  interfaces: enabled=b interfaces[]=s
  ssl: &ssl
  socket-interceptor: &member-address-provider
  symmetric-encryption: &symmetric-encryption
  socket-options: &socket-options
  tpc-socket: &tpc-socket
 rest-server-socket-endpoint-config: name=s public-address=s reuse-address=b ...
  outbound-ports: []=s {}=s
  interfaces: enabled=b interfaces[]=s
  ssl: &ssl
  socket-interceptor: &member-address-provider
  symmetric-encryption: &symmetric-encryption
  socket-options: &socket-options
  tpc-socket: &tpc-socket
  port=i: &port
  endpoint-groups{}=a: enabled=b
cp-subsystem: cp-member-count=i0..0,i3.. group-size=i0..0,i3..7 session-time-to-live-seconds=i1..
 + session-heartbeat-interval-seconds=i1.. missing-cp-member-auto-removal-seconds=i0..
 + fail-on-indeterminate-operation-state=b persistence-enabled=b base-dir=s
 + data-load-timeout-seconds=i1.. cp-member-priority=i auto-step-down-when-leader=b map-limit=i
 raft-algorithm: leader-election-timeout-in-millis=i1.. leader-heartbeat-period-in-millis=i1..
  + max-missed-leader-heartbeat-count=i1.. append-request-max-entry-count=i1..
  + commit-index-advance-count-to-snapshot=i1.. uncommitted-entry-count-to-reject-new-appends=i1..
  + append-request-backoff-timeout-in-millis=i1..
 semaphores{}: jdk-compatible=b initial-permits=i0..
 locks{}: lock-acquire-limit=i0..
 maps{}: max-size-mb=i1.. purge-enabled=b
metrics: enabled=b collection-frequency-seconds=i1.. ...
 management-center: enabled=b retention-seconds=i1..
 jmx: enabled=b
sql: statement-timeout-millis=i catalog-persistence-enabled=b
 java-reflection-filter: &java-serialization-filter
auditlog: &ssl
instance-tracking: enabled=b file-name=s format-pattern=s
jet: enabled=b resource-upload-enabled=b cooperative-thread-count=i flow-control-period=i
 + backup-count=i..6 scale-up-delay-millis=i lossless-restart-enabled=b
 + max-processor-accumulated-records=i
 instance: cooperative-thread-count=i flow-control-period=i backup-count=i..6
  + scale-up-delay-millis=i lossless-restart-enabled=b max-processor-accumulated-records=i
 edge-defaults: queue-size=i packet-size-limit=i receive-window-multiplier=i
local-device{}: base-dir=s block-size=i512.. read-io-thread-count=i1.. write-io-thread-count=i1..
 capacity: &page-size
dynamic-configuration: persistence-enabled=b backup-dir=s backup-count=i0..
integrity-checker: enabled=b
data-connection{}: name=s type=s shared=b properties=o
tpc: enabled=b eventloop-count=i ...
user-code-namespaces: enabled=b
 class-filter: &java-serialization-filter
 name-spaces{}[]: &name-spaces
 {}[]: &name-spaces
rest: enabled=b port=i security-realm=s token-validity-seconds=i lockout-duration-seconds=i
 + max-login-attempts=i
 ssl: enabled=b client-auth=s ciphers=s enabled-protocols=s key-alias=s key-password=s key-store=s
  + key-store-password=s key-store-type=s key-store-provider=s trust-store=s trust-store-password=s
  + trust-store-type=s trust-store-provider=s protocol=s certificate=s certificate-key=s
  + trust-certificate=s trust-certificate-key=s
vector-collection{}: backup-count=i0..6 async-backup-count=i0..6 split-brain-protection-ref=s
 + user-code-namespace=s
 indexes[]: name=s dimension=i metric=EUCLIDEAN|COSINE|DOT max-degree=i ef-construction=i
  + use-deduplication=b
 merge-policy: batch-size=i0.. class-name=s
external-data-store{}: name=s class-name=s shared=b properties=o
`;
