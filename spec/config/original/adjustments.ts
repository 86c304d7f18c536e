/**
 * Corrections to the original's schemas where they omit settings or define them wrongly, according
 * to its own readers of files, and the YAML paths of the settings in XML. Whether gridnode uses a
 * setting does not matter.
 */
import { emptyTree, leafTree, merged, type SchemaTree, type SchemaTrees } from './schema-tree.ts';

export function adjusted({ yaml, xml }: SchemaTrees): SchemaTrees {
  return { yaml: changedAll(yaml, YAML_CHANGES), xml: withSteps(changedAll(xml, XML_CHANGES), '') };
}

const RECOVERY = 'FULL_RECOVERY_ONLY|PARTIAL_RECOVERY_MOST_RECENT|PARTIAL_RECOVERY_MOST_COMPLETE';

type Change = (tree: SchemaTree) => SchemaTree;

/** Path of names, `{}` and `[]`, and the change to the setting at this path. */
const YAML_CHANGES: readonly (readonly [string, Change])[] = [
  // A port number may replace the section.
  ['network.port', alsoOf('i0..65535')],
  // The schema allows one port too many.
  ['network.port.port', () => leafTree('i0..65535')],
  ['advanced-network.rest-server-socket-endpoint-config.port', alsoOf('i')],
  ...['memcache', 'wan', 'client', 'member'].map(
    (kind) => [`advanced-network.${kind}-server-socket-endpoint-config.port`, alsoOf('i')] as const,
  ),
  // Endpoint groups are treated as free names, because they may be written in any case.
  ['network.rest-api.endpoint-groups', withoutNames],
  ['network.rest-api.endpoint-groups.{}', alsoOf('a')],
  ['advanced-network.rest-server-socket-endpoint-config.endpoint-groups', withoutNames],
  ['advanced-network.rest-server-socket-endpoint-config.endpoint-groups.{}', alsoOf('a')],
  // The schema defines their settings at a place where they have no meaning.
  [
    'durable-executor-service',
    () => named(alsoOf('a')(executor({ durability: 'i1..', capacity: 'i0..' }))),
  ],
  [
    'scheduled-executor-service',
    () =>
      named(
        alsoOf('a')(
          executor({
            durability: 'i1..',
            capacity: 'i0..',
            'capacity-policy': 'PER_NODE|PER_PARTITION',
            'merge-policy': { 'batch-size': 'i0..', 'class-name': 's' },
          }),
        ),
      ),
  ],
  // The resources of a namespace are a list, not a list of lists.
  ['user-code-namespaces.name-spaces.{}', withoutInnerList],
  ['user-code-namespaces.{}', withoutInnerList],
  // The schemas neither define nor forbid a text instead of the section.
  ['map.{}.query-caches.{}.predicate', alsoOf('a')],
  ['cardinality-estimator.{}.merge-policy', alsoOf('a')],
  // The schema defines `deny` within the endpoints. All names are known for the kinds that gridnode
  // uses.
  ['security.client-permissions', withDenials],
];

const XML_CHANGES: typeof YAML_CHANGES = [
  // The schema lists the words only in its description.
  ...['persistence', 'hot-restart-persistence'].map(
    (section) => [`${section}.cluster-data-recovery-policy`, () => leafTree(RECOVERY)] as const,
  ),
  // The schema uses these names for other elements, which a file contains instead of them.
  ['split-brain-protection', alsoHolding('choice-of-split-brain-protection-function')],
  ...['persistence', 'hot-restart-persistence'].map(
    (section) =>
      [
        `${section}.encryption-at-rest.secure-store`,
        alsoHolding('secure-store-substitution-group'),
      ] as const,
  ),
];

/** YAML path of an XML element, by its name and that of the enclosing element. */
const STEPS: Readonly<Record<string, string>> = {
  property: '{}',
  'trusted-interfaces/interface': '[]',
  'interfaces/interface': 'interfaces[]',
  'member-list/member': '[]',
  'endpoints/endpoint': '[]',
  'actions/action': '[]',
  'wan-replication/batch-publisher': 'batch-publisher[]',
  'map/wan-replication-ref': 'wan-replication-ref{}',
  'rest-api/endpoint-group': 'endpoint-groups{}',
  'endpoint-groups/endpoint-group': '{}',
  'client-permissions/all-permissions': 'all[]',
  'client-permissions/map-permission': 'map[]',
  'client-permissions/queue-permission': 'queue[]',
  'realms/realm': '[]',
  'jaas/login-module': '[]',
  'simple/user': 'users[]',
  'user/role': 'roles[]',
};

/** Elements whose name is optional: there may be several without a name. */
const UNNAMED =
  /-permission$|^(index|wan-replication-ref|near-cache)$|^(member|client|rest|memcache)-server-socket/;
/** Elements that occur once for each name, although the schema allows only one. */
const NAMED = new Set(['split-brain-protection']);

function changedAll(tree: SchemaTree, changes: typeof YAML_CHANGES): SchemaTree {
  return changes.reduce((all, [path, change]) => changed(all, path.split('.'), change), tree);
}

/**
 * Returns the tree with the setting at the path changed. Other parts that were the same object are
 * unchanged.
 */
function changed(tree: SchemaTree, [step, ...more]: readonly string[], change: Change): SchemaTree {
  if (step === undefined) return change(tree);
  const below = step === '{}' ? tree.named : tree.children.get(step);
  if (below === undefined) throw new Error(`Cannot adjust ${step}: the schemas have no such name`);
  const after = changed(below, more, change);
  if (step === '{}') return { ...tree, named: after };
  return { ...tree, children: new Map(tree.children).set(step, after) };
}

function alsoOf(type: string): Change {
  return (tree) => ({ ...tree, types: new Set([...tree.types, type]) });
}

function alsoHolding(name: string): Change {
  return (tree) => ({ ...tree, children: new Map(tree.children).set(name, leafTree('s')) });
}

function withoutNames(tree: SchemaTree): SchemaTree {
  return { ...tree, children: new Map(), isOpen: false };
}

function withoutInnerList(tree: SchemaTree): SchemaTree {
  return tree.item?.item === undefined ? tree : { ...tree, item: tree.item.item };
}

/** Types of values, or of the values of a section. */
interface Types {
  readonly [name: string]: string | Types;
}

function section(types: Types): SchemaTree {
  const children = Object.entries(types).map(
    ([name, type]) => [name, typeof type === 'string' ? leafTree(type) : section(type)] as const,
  );
  return { ...emptyTree(), children: new Map(children) };
}

function named(tree: SchemaTree): SchemaTree {
  return { ...emptyTree(), named: tree };
}

function executor(more: Types): SchemaTree {
  const common = {
    ...{ 'statistics-enabled': 'b', 'pool-size': 'i1..' },
    ...{ 'split-brain-protection-ref': 's', 'user-code-namespace': 's' },
  };
  return { ...section({ ...common, ...more }), isOpen: true };
}

function withDenials(permissions: SchemaTree): SchemaTree {
  const withDenial = (tree: SchemaTree, isOpen: boolean): SchemaTree => ({
    ...merged(tree, section({ deny: 'b' })),
    isOpen,
  });
  const children = new Map(permissions.children);
  for (const [name, child] of children) {
    if (child.types.size > 0) continue;
    const isOpen = !['all', 'map', 'queue'].includes(name);
    const item = child.item && withDenial(child.item, isOpen);
    children.set(name, item ? { ...child, item } : withDenial(child, isOpen));
  }
  const { item } = permissions.named ?? {};
  const others = item && { ...emptyTree(), item: withDenial(item, true) };
  return { ...permissions, children, named: others };
}

/** Returns the tree with the steps of the path from each element to the setting. */
function withSteps(tree: SchemaTree, around: string): SchemaTree {
  const children = [...tree.children].map(([name, child]) => {
    const steps = STEPS[`${around}/${name}`] ?? STEPS[name] ?? stepsOfName(name, child);
    const below = withSteps(child, name);
    if (steps === undefined) return [name, below] as const;
    if (steps.endsWith('{}')) below.children.delete('@name');
    return [name, { ...below, steps }] as const;
  });
  const all = new Map(children);
  // If any element is allowed, one with the name of an attribute is not a misspelling.
  for (const [name, child] of tree.isOpen ? tree.children : []) {
    if (name.startsWith('@')) all.set(name.slice(1), child);
  }
  return { ...tree, children: all };
}

/** Returns the steps of elements that are distinguished by their names. */
function stepsOfName(name: string, tree: SchemaTree): string | undefined {
  const isNamed = tree.children.has('@name') && (tree.repeats || NAMED.has(name));
  return isNamed && !UNNAMED.test(name) ? `${name}{}` : undefined;
}
