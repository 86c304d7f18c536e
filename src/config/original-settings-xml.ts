/**
 * Every setting that a member file of the original accepts in XML, in the notation that
 * document-schema.ts reads. It has only names and types: settings.ts lists the used settings,
 * refused-settings.ts those that are refused; all others have no effect.
 * Written by `make known-tables`: see spec/config/original.
 */
export const XML_SETTINGS = `
*: cluster-name=s license-key=s instance-name=s @id=s
import=a: @resource=s
config-replacers: @fail-if-value-missing=b
 replacer: &replacer
management-center: @scripting-enabled=b @console-enabled=b @data-access-enabled=b
 trusted-interfaces: interface>[]=s
properties: property>{}=s
wan-replication{}:
 batch-publisher>batch-publisher[]: cluster-name=s snapshot-enabled=b
  + initial-publisher-state=REPLICATING|PAUSED|STOPPED queue-capacity=i batch-size=i
  + batch-max-delay-millis=i response-timeout-millis=i
  + queue-full-behavior=DISCARD_AFTER_MUTATION|THROW_EXCEPTION
  + |THROW_EXCEPTION_ONLY_IF_REPLICATION_ACTIVE
  + acknowledge-type=ACK_ON_OPERATION_COMPLETE|ACK_ON_RECEIPT discovery-period-seconds=i
  + max-target-endpoints=i max-concurrent-invocations=i use-endpoint-private-address=b
  + idle-min-park-ns=i idle-max-park-ns=i publisher-id=s target-endpoints=s endpoint=s
  aws: &aws
  gcp: &aws
  azure: &aws
  kubernetes: &aws
  eureka: &aws
  discovery-strategies: &discovery-strategies
  sync: consistency-check-strategy=NONE|MERKLE_TREES
  properties: property>{}=s
 custom-publisher: publisher-id=s class-name=s
  properties: property>{}=s
 consumer: class-name=s persist-wan-replicated-data=b
  properties: property>{}=s
network: public-address=s reuse-address=b
 port=i0..65535: &port
 outbound-ports: ports=s
 join: &join
 interfaces: &interfaces
 ssl: &ssl
 socket-interceptor: &socket-interceptor
 symmetric-encryption: &symmetric-encryption
 member-address-provider: &socket-interceptor
 failure-detector: &failure-detector
 rest-api: @enabled=b
  endpoint-group>endpoint-groups{}: @enabled=b
 memcache-protocol: @enabled=b
 tpc-socket: &tpc-socket
partition-group: @enabled=b
 + @group-type=HOST_AWARE|CUSTOM|PER_MEMBER|ZONE_AWARE|NODE_AWARE|PLACEMENT_AWARE|SPI
 member-group: interface=s
executor-service{}: statistics-enabled=b pool-size=i0..65535 queue-capacity=i0..
 + split-brain-protection-ref=s user-code-namespace=s
durable-executor-service{}: statistics-enabled=b pool-size=i0..65535 durability=i0..65535
 + capacity=i0.. split-brain-protection-ref=s user-code-namespace=s
scheduled-executor-service{}: statistics-enabled=b pool-size=i0..65535 durability=i0..65535
 + capacity=i0..65535 capacity-policy=PER_NODE|PER_PARTITION split-brain-protection-ref=s
 + user-code-namespace=s
 merge-policy=s: @batch-size=i1..
queue{}: priority-comparator-class-name=s statistics-enabled=b max-size=i0.. backup-count=i0..6
 + async-backup-count=i0..6 empty-queue-ttl=i-1.. split-brain-protection-ref=s user-code-namespace=s
 item-listeners:
  item-listener=s: @include-value=b
 queue-store: &queue-store
 merge-policy=s: @batch-size=i1..
map{}: metadata-policy=CREATE_ON_UPDATE|OFF in-memory-format=BINARY|OBJECT|NATIVE
 + statistics-enabled=b per-entry-stats-enabled=b cache-deserialized-values=NEVER|ALWAYS|INDEX-ONLY
 + backup-count=i0..6 async-backup-count=i0..6 time-to-live-seconds=i0.. max-idle-seconds=i0..
 + read-backup-data=b partition-strategy=s split-brain-protection-ref=s user-code-namespace=s
 eviction: @size=i0..
  + @max-size-policy=PER_NODE|PER_PARTITION|USED_HEAP_SIZE|USED_HEAP_PERCENTAGE|FREE_HEAP_SIZE
  + |FREE_HEAP_PERCENTAGE|USED_NATIVE_MEMORY_SIZE|USED_NATIVE_MEMORY_PERCENTAGE
  + |FREE_NATIVE_MEMORY_SIZE|FREE_NATIVE_MEMORY_PERCENTAGE
  + @eviction-policy=NONE|LRU|LFU|RANDOM @comparator-class-name=s
 merge-policy=s: @batch-size=i1..
 merkle-tree: depth=i0.. @enabled=b
 hot-restart: fsync=b @enabled=b
 data-persistence: fsync=b @enabled=b
 event-journal: &event-journal
 map-store: class-name=s factory-class-name=s write-delay-seconds=i0.. write-batch-size=i0..
  + write-coalescing=b offload=b @enabled=b @initial-mode=LAZY|EAGER
  properties: property>{}=s
 near-cache: in-memory-format=BINARY|OBJECT|NATIVE serialize-keys=b invalidate-on-change=b
  + time-to-live-seconds=i0.. max-idle-seconds=i0.. cache-local-entries=b @name=s
  eviction: &eviction
 wan-replication-ref{}: merge-policy-class-name=s republishing-enabled=b
  filters: filter-impl=s
 indexes: &indexes
 attributes:
  attribute=s: @extractor-class-name=s
 entry-listeners: &entry-listeners
 partition-lost-listeners: partition-lost-listener=s
 query-caches:
  query-cache{}: include-value=b in-memory-format=BINARY|OBJECT|NATIVE populate=b coalesce=b
   + serialize-keys=b delay-seconds=i0.. batch-size=i0.. buffer-size=i0..
   predicate=s: @type=class-name|sql
   entry-listeners: &entry-listeners
   eviction: &eviction
   indexes: &indexes
 tiered-store: @enabled=b
  memory-tier: &memory-tier
  disk-tier: @enabled=b @device-name=s
 partition-attributes: attribute=s
multimap{}: backup-count=i0..6 async-backup-count=i0..6 statistics-enabled=b binary=b
 + value-collection-type=SET|LIST split-brain-protection-ref=s user-code-namespace=s
 entry-listeners: &entry-listeners
 merge-policy=s: @batch-size=i1..
replicatedmap{}: in-memory-format=BINARY|OBJECT|NATIVE async-fillup=b statistics-enabled=b
 + split-brain-protection-ref=s user-code-namespace=s
 entry-listeners: &entry-listeners
 merge-policy=s: @batch-size=i1..
cache{}: statistics-enabled=b management-enabled=b read-through=b write-through=b
 + in-memory-format=BINARY|OBJECT|NATIVE backup-count=i0..6 async-backup-count=i0..6
 + split-brain-protection-ref=s disable-per-entry-invalidation-events=b user-code-namespace=s
 key-type: @class-name=s
 value-type: @class-name=s
 cache-loader-factory: @class-name=s
 cache-loader: @class-name=s
 cache-writer-factory: @class-name=s
 cache-writer: @class-name=s
 expiry-policy-factory: @class-name=s
  timed-expiry-policy-factory: @expiry-policy-type=CREATED|ACCESSED|ETERNAL|MODIFIED|TOUCHED
   + @duration-amount=i0..
   + @time-unit=NANOSECONDS|MICROSECONDS|MILLISECONDS|SECONDS|MINUTES|HOURS|DAYS
 cache-entry-listeners:
  cache-entry-listener: @old-value-required=b @synchronous=b
   cache-entry-listener-factory: @class-name=s
   cache-entry-event-filter-factory: @class-name=s
 eviction: &eviction
 wan-replication-ref: merge-policy-class-name=s republishing-enabled=b @name=s
  filters: filter-impl=s
 partition-lost-listeners: partition-lost-listener=s
 merge-policy=s: @batch-size=i1..
 hot-restart: fsync=b @enabled=b
 data-persistence: fsync=b @enabled=b
 event-journal: &event-journal
 merkle-tree: depth=i0.. @enabled=b
list{}: &list
set{}: &list
topic{}: statistics-enabled=b global-ordering-enabled=b multi-threading-enabled=b
 + user-code-namespace=s
 message-listeners: message-listener=s
reliable-topic{}: statistics-enabled=b read-batch-size=i
 + topic-overload-policy=DISCARD_OLDEST|DISCARD_NEWEST|BLOCK|ERROR user-code-namespace=s
 message-listeners: message-listener=s
ringbuffer{}: capacity=i0.. time-to-live-seconds=i0.. backup-count=i0..6 async-backup-count=i0..6
 + in-memory-format=BINARY|OBJECT|NATIVE split-brain-protection-ref=s user-code-namespace=s
 ringbuffer-store: &queue-store
 merge-policy=s: @batch-size=i1..
listeners: listener=s
serialization: portable-version=i0.. use-native-byte-order=b byte-order=BIG_ENDIAN|LITTLE_ENDIAN
 + enable-compression=b enable-shared-object=b allow-unsafe=b allow-override-default-serializers=b
 + check-class-def-errors=b
 data-serializable-factories:
  data-serializable-factory=s: @factory-id=i0..
 portable-factories:
  portable-factory=s: @factory-id=i0..
 serializers:
  global-serializer=s: @override-java-serialization=b
  serializer: @class-name=s @type-class=s
 java-serialization-filter: &java-serialization-filter
 compact-serialization: @enabled=b
  serializers: serializer=s
  classes: class=s
  zero-config-filter: &java-serialization-filter
  registered-classes:
   class=s: @type-name=s @serializer=s
native-memory: min-block-size=i1.. page-size=i1.. metadata-space-percentage=n5..95
 + persistent-memory-directory=s @allocator-type=STANDARD|POOLED @enabled=b
 size: @value=i @unit=%unit
 capacity: &capacity
 persistent-memory: @enabled=b @mode=MOUNTED|SYSTEM_MEMORY
  directories:
   directory=s: @numa-node=i
security: client-block-unmapped-actions=b @enabled=b
 client-permission-policy: &replacer
 client-permissions: @on-join-operation=RECEIVE|SEND|NONE @priority-grant=b
  all-permissions>all[]: &all-permissions
  map-permission>map[]: &map-permission
  queue-permission>queue[]: &map-permission
  multimap-permission: &map-permission
  topic-permission: &map-permission
  list-permission: &map-permission
  set-permission: &map-permission
  lock-permission: &map-permission
  atomic-long-permission: &map-permission
  atomic-reference-permission: &map-permission
  countdown-latch-permission: &map-permission
  semaphore-permission: &map-permission
  cpmap-permission: &map-permission
  flake-id-generator-permission: &map-permission
  executor-service-permission: &map-permission
  durable-executor-service-permission: &map-permission
  cardinality-estimator-permission: &map-permission
  scheduled-executor-permission: &map-permission
  pn-counter-permission: &map-permission
  transaction-permission: &all-permissions
  cache-permission: &map-permission
  user-code-deployment-permission: &map-permission
  config-permission: &all-permissions
  ring-buffer-permission: &map-permission
  reliable-topic-permission: &map-permission
  replicatedmap-permission: &map-permission
  management-permission: @principal=s @deny=b @name=s
   endpoints: endpoint>[]=s
  job-permission: @principal=s @deny=b
   endpoints: endpoint>[]=s
   actions: &actions
  connector-permission: &map-permission
  sql-permission: &map-permission
  user-code-namespace-permission: &map-permission
  vector-collection-permission: &map-permission
 security-interceptors:
  interceptor: @class-name=s
 realms:
  realm>[]: @name=s
   authentication:
    jaas:
     login-module>[]: @class-name=s @usage=REQUIRED|OPTIONAL|REQUISITE|SUFFICIENT
      properties: property>{}=s
    tls: skip-identity=b skip-endpoint=b skip-role=b @roleAttribute=s
    ldap: &ldap
    simple: skip-identity=b skip-endpoint=b skip-role=b role-separator=s
     user>users[]: @username=s @password=s role>roles[]=s
    kerberos: skip-identity=b skip-endpoint=b skip-role=b relax-flags-check=b
     + use-name-without-realm=b security-realm=s principal=s keytab-file=s
     ldap: &ldap
   identity:
    username-password: @username=s @password=s
    credentials-factory: &replacer
    token=s: @encoding=none|base64
    kerberos: realm=s security-realm=s principal=s keytab-file=s service-name-prefix=s spn=s
     + use-canonical-hostname=b
   access-control-service: factory-class-name=s
    properties: property>{}=s
 member-authentication: @realm=s
 client-authentication: @realm=s
member-attributes: attribute{}=s
split-brain-protection{}: minimum-cluster-size=i0.. protect-on=READ|WRITE|READ_WRITE
 + function-class-name=s member-count-split-brain-protection @enabled=b
 + choice-of-split-brain-protection-function=s
 listeners: listener=s
 probabilistic-split-brain-protection: @acceptable-heartbeat-pause-millis=i0..
  + @suspicion-threshold=n @max-sample-size=i0.. @min-std-deviation-millis=i0..
  + @heartbeat-interval-millis=i0..
 recently-active-split-brain-protection: @heartbeat-tolerance-millis=i0..
lite-member: @enabled=b
hot-restart-persistence: base-dir=s backup-dir=s parallelism=i0.. validation-timeout-seconds=i0..
 + data-load-timeout-seconds=i0.. cluster-data-recovery-policy=%cluster-data-recovery-policy
 + auto-remove-stale-data=b @enabled=b
 encryption-at-rest: &encryption-at-rest
persistence: base-dir=s backup-dir=s parallelism=i0.. validation-timeout-seconds=i0..
 + data-load-timeout-seconds=i0.. cluster-data-recovery-policy=%cluster-data-recovery-policy
 + auto-remove-stale-data=b rebalance-delay-seconds=i0.. @enabled=b
 encryption-at-rest: &encryption-at-rest
user-code-deployment: class-cache-mode=OFF|ETERNAL
 + provider-mode=OFF|LOCAL_CLASSES_ONLY|LOCAL_AND_CACHED_CLASSES blacklist-prefixes=s
 + whitelist-prefixes=s provider-filter=s @enabled=b
cardinality-estimator{}: backup-count=i0..6 async-backup-count=i0..6 split-brain-protection-ref=s
 merge-policy=s: @batch-size=i1..
flake-id-generator{}: prefetch-count=i1.. prefetch-validity-millis=i epoch-start=i node-id-offset=i
 + bits-sequence=i0..63 bits-node-id=i0..63 allowed-future-millis=i0.. statistics-enabled=b
crdt-replication: replication-period-millis=i0.. max-concurrent-replication-targets=i0..
pn-counter{}: replica-count=i1..2147483647 split-brain-protection-ref=s statistics-enabled=b
advanced-network: @enabled=b
 join: &join
 failure-detector: &failure-detector
 member-address-provider: &socket-interceptor
 wan-endpoint-config{}:
  outbound-ports: ports=s
  interfaces: &interfaces
  ssl: &ssl
  socket-interceptor: &socket-interceptor
  symmetric-encryption: &symmetric-encryption
  socket-options: &socket-options
  tpc-socket: &tpc-socket
 wan-server-socket-endpoint-config{}: public-address=s reuse-address=b
  port=i0..65535: &port
  outbound-ports: ports=s
  interfaces: &interfaces
  ssl: &ssl
  socket-interceptor: &socket-interceptor
  symmetric-encryption: &symmetric-encryption
  socket-options: &socket-options
  tpc-socket: &tpc-socket
 member-server-socket-endpoint-config: &member-server-socket-endpoint-config
 client-server-socket-endpoint-config: &member-server-socket-endpoint-config
 rest-server-socket-endpoint-config: public-address=s reuse-address=b @name=s
  port=i0..65535: &port
  outbound-ports: ports=s
  interfaces: &interfaces
  ssl: &ssl
  socket-interceptor: &socket-interceptor
  symmetric-encryption: &symmetric-encryption
  socket-options: &socket-options
  endpoint-groups:
   endpoint-group>{}: @enabled=b
  tpc-socket: &tpc-socket
 memcache-server-socket-endpoint-config: &member-server-socket-endpoint-config
cp-subsystem: cp-member-count=i0.. group-size=i0..7 session-time-to-live-seconds=i0..
 + session-heartbeat-interval-seconds=i0.. missing-cp-member-auto-removal-seconds=i0..
 + fail-on-indeterminate-operation-state=b persistence-enabled=b base-dir=s
 + data-load-timeout-seconds=i0.. cp-member-priority=i map-limit=i1.. auto-step-down-when-leader=b
 raft-algorithm: leader-election-timeout-in-millis=i0.. leader-heartbeat-period-in-millis=i0..
  + max-missed-leader-heartbeat-count=i0.. append-request-max-entry-count=i0..
  + commit-index-advance-count-to-snapshot=i0.. uncommitted-entry-count-to-reject-new-appends=i0..
  + append-request-backoff-timeout-in-millis=i0..
 semaphores:
  semaphore: name=s jdk-compatible=b initial-permits=i0..
 locks:
  fenced-lock: name=s lock-acquire-limit=i0..
 maps:
  map: name=s max-size-mb=i1.. purge-enabled=b
auditlog: &ssl
metrics: collection-frequency-seconds=i0.. @enabled=b
 management-center: retention-seconds=i0.. @enabled=b
 jmx: @enabled=b
instance-tracking: file-name=s format-pattern=s @enabled=b
sql: statement-timeout-millis=i0.. catalog-persistence-enabled=b
 java-reflection-filter: &java-serialization-filter
jet: cooperative-thread-count=i1.. flow-control-period=i1.. backup-count=i0..6
 + scale-up-delay-millis=i0.. lossless-restart-enabled=b max-processor-accumulated-records=i
 + @enabled=b @resource-upload-enabled=b
 instance: cooperative-thread-count=i1.. flow-control-period=i1.. backup-count=i0..6
  + scale-up-delay-millis=i0.. lossless-restart-enabled=b max-processor-accumulated-records=i
 edge-defaults: queue-size=i1.. packet-size-limit=i1.. receive-window-multiplier=i1..
local-device{}: base-dir=s block-size=i512.. read-io-thread-count=i1.. write-io-thread-count=i1..
 capacity: &capacity
dynamic-configuration: persistence-enabled=b backup-dir=s backup-count=s
integrity-checker: @enabled=b
data-connection{}: type=s shared=b
 properties: property>{}=s
tpc: eventloop-count=i @enabled=b
user-code-namespaces: @enabled=b
 class-filter: &java-serialization-filter
 namespace{}:
  jar: url=s @id=s
  jars-in-zip: url=s @id=s
  class: url=s @id=s
rest: port=i security-realm=s token-validity-seconds=i request-timeout-seconds=i
 + lockout-duration-seconds=i max-login-attempts=i @enabled=b
 ssl: client-auth=NONE|WANT|NEED ciphers=s key-alias=s key-password=s key-store=s
  + key-store-password=s key-store-type=s key-store-provider=s protocol=s trust-store=s
  + trust-store-password=s trust-store-type=s trust-store-provider=s enabled-protocols=s
  + certificate=s certificate-key=s trust-certificate=s trust-certificate-key=s @enabled=b
vector-collection{}: backup-count=i0..6 async-backup-count=i0..6 split-brain-protection-ref=s
 + user-code-namespace=s
 merge-policy=s: @batch-size=i1..
 indexes:
  index: dimension=i metric=s max-degree=i1.. ef-construction=i1.. use-deduplication=b @name=s
external-data-store{}: class-name=s shared=b
 properties: property>{}=s
`;
