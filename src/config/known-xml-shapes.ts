/** Shapes that several settings share in XML, in the notation that known-settings.ts reads. */
export const KNOWN_XML_SHAPES = `
%queue-full-behavior=DISCARD_AFTER_MUTATION|THROW_EXCEPTION
 + |THROW_EXCEPTION_ONLY_IF_REPLICATION_ACTIVE
%name=CLUSTER_READ|CLUSTER_WRITE|HEALTH_CHECK|PERSISTENCE|HOT_RESTART|WAN|DATA|CP
%group-type=HOST_AWARE|CUSTOM|PER_MEMBER|ZONE_AWARE|NODE_AWARE|PLACEMENT_AWARE|SPI
%in-memory-format=BINARY|OBJECT|NATIVE
%max-size-policy=PER_NODE|PER_PARTITION|USED_HEAP_SIZE|USED_HEAP_PERCENTAGE|FREE_HEAP_SIZE
 + |FREE_HEAP_PERCENTAGE|USED_NATIVE_MEMORY_SIZE|USED_NATIVE_MEMORY_PERCENTAGE
 + |FREE_NATIVE_MEMORY_SIZE|FREE_NATIVE_MEMORY_PERCENTAGE
%eviction-policy=NONE|LRU|LFU|RANDOM
%other-max-size-policy=ENTRY_COUNT|USED_NATIVE_MEMORY_SIZE|USED_NATIVE_MEMORY_PERCENTAGE
 + |FREE_NATIVE_MEMORY_SIZE|FREE_NATIVE_MEMORY_PERCENTAGE
%unit=BYTES|KILOBYTES|MEGABYTES|GIGABYTES
%time-unit=NANOSECONDS|MICROSECONDS|MILLISECONDS|SECONDS|MINUTES|HOURS|DAYS
%action=all|create|destroy|modify|read|remove|lock|listen|release|acquire|put|add|index|intercept
 + |publish|aggregate|projection|deploy|use|optimize|submit|cancel|restart|export-snapshot
 + |add-resources|write|instance|member|migration|view-mapping|create-view|drop-view|create-type
 + |drop-type|view-dataconnection|create-dataconnection|drop-dataconnection
%role-search-scope=object|one-level|subtree
&replacer: @class-name=s
 properties: property>{}=s
&aws: @enabled=b @connection-timeout-seconds=i ...
&discovery-strategies:
 node-filter: @class=s
 discovery-strategy: &discovery-strategy
&discovery-strategy: @enabled=b @class=s
 properties: property>{}=s
&join:
 multicast: &multicast
 tcp-ip: &tcp-ip
 aws: &aws
 gcp: &aws
 azure: &aws
 kubernetes: &aws
 eureka: &aws
 auto-detection: @enabled=b @connection-timeout-seconds=i
 discovery-strategies: &discovery-strategies
&multicast: multicast-group=s multicast-port=i0..65535 multicast-timeout-seconds=i
 + multicast-time-to-live=i @enabled=b @loopbackModeEnabled=b
 trusted-interfaces: interface>[]=s
&tcp-ip: required-member=s member=s interface=s members=s @enabled=b @connection-timeout-seconds=i
 member-list: member>[]=s
&ssl: factory-class-name=s @enabled=b
 properties: property>{}=s
&socket-interceptor: class-name=s @enabled=b
 properties: property>{}=s
&symmetric-encryption: algorithm=s salt=s password=s iteration-count=i @enabled=b
&failure-detector:
 icmp: &icmp
&icmp: timeout-milliseconds=i ttl=i parallel-mode=b fail-fast-on-startup=b max-attempts=i
 + interval-milliseconds=i @enabled=s
&tpc-socket: port-range=s receive-buffer-size-kb=i send-buffer-size-kb=i
&queue-store: factory-or-class-name=s @enabled=b
 properties: property>{}=s
&event-journal: capacity=i0.. time-to-live-seconds=i0.. @enabled=b
&eviction: @size=i0.. @max-size-policy=%other-max-size-policy @eviction-policy=%eviction-policy
 + @comparator-class-name=s
&wan-replication-ref: merge-policy-class-name=s republishing-enabled=b @name=s
 filters: filter-impl=s
&indexes:
 index{}: @type=SORTED|HASH|BITMAP
  attributes: attribute=s
  bitmap-index-options: unique-key=s unique-key-transformation=OBJECT|LONG|RAW
  btree-index: &btree-index
&btree-index:
 memory-tier: &memory-tier
 page-size: @value=i0.. @unit=%unit
&memory-tier:
 capacity: @value=i0.. @unit=%unit
&entry-listeners:
 entry-listener=s: @include-value=b @local=b
&java-serialization-filter: @defaults-disabled=b
 blacklist: &blacklist
 whitelist: &blacklist
&blacklist: class=s package=s prefix=s
&permission-of-all: @principal=s @deny=b
 endpoints: endpoint>[]=s
&permission: @principal=s @deny=b @name=s
 endpoints: endpoint>[]=s
 actions: action>[]=%action
&ldap: skip-identity=b skip-endpoint=b skip-role=b url=s socket-factory-class-name=s parse-dn=b
 + role-context=s role-filter=s role-mapping-attribute=s
 + role-mapping-mode=attribute|direct|reverse role-name-attribute=s role-recursion-max-depth=i
 + role-search-scope=%role-search-scope user-name-attribute=s system-user-dn=s
 + system-user-password=s system-authentication=s security-realm=s password-attribute=s
 + user-context=s user-filter=s user-search-scope=%role-search-scope skip-authentication=b
&encryption-at-rest: algorithm=s salt=s key-size=i @enabled=b
 secure-store: &secure-store
&secure-store: secure-store-substitution-group=s
 keystore: &key-store
 vault: &vault
&key-store: path=s type=s password=s current-key-alias=s polling-interval=i0..
&vault: address=s secret-path=s token=s polling-interval=i
 ssl: &ssl
&socket-options: buffer-direct=b tcp-no-delay=b keep-alive=b connect-timeout-seconds=i0..
 + send-buffer-size-kb=i1.. receive-buffer-size-kb=i1.. linger-seconds=i0.. keep-idle-seconds=i1..
 + keep-interval-seconds=i1.. keep-count=i1..
&endpoint: public-address=s reuse-address=b @name=s
 port=i0..65535: @auto-increment=b @port-count=i0..
 outbound-ports: ports=s
 interfaces: interface>interfaces[]=s @enabled=b
 ssl: &ssl
 socket-interceptor: &socket-interceptor
 symmetric-encryption: &symmetric-encryption
 socket-options: &socket-options
 tpc-socket: &tpc-socket
`;
