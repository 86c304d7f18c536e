/** Messages about names of a document that are not known, with the known names that nearly equal them. */
import type { DocumentEntry } from './document.ts';
import { quoted } from './finding-list.ts';
import type { KnownContent } from './known-settings.ts';
import { hintOf, nearestNames, slippedNames } from './nearest-name.ts';
import { pathOf } from './settings.ts';

/** Limit of the known names that a message lists beside the nearest one. */
const NAMES_LISTED_MAX = 12;

/** Names at the root of the original's 3.x files, with those that replace them. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['group', pathOf('clusterName')],
  ['quorum', 'split-brain-protection'],
  ['semaphore', 'cp-subsystem'],
]);

/** The message about a name that is not among the known ones; `section`: where it is, with "in" or "at". */
export function unknownName(name: string, known: KnownContent, section: string): string {
  const names = [...known.children.keys()];
  const replacement = RENAMED.get(name);
  if (replacement !== undefined && known.children.has(replacement)) {
    return `${quoted(name)} ${section}: a name of 3.x files; ${replacement} replaces ${name}`;
  }
  const isFree = known.named !== undefined || known.isOpen;
  const nearest = isFree ? slippedNames(name, names) : nearestNames(name, names);
  const isLong = names.length > NAMES_LISTED_MAX && nearest.length > 0;
  const list = isLong || isFree ? '' : ` (known: ${names.map(nameInForm).sort().join(', ')})`;
  const hint = hintOf(nearest.map(nameInForm));
  return `${quoted(nameInForm(name))} ${section}: unknown${hint}${list}`;
}

/** An attribute with nearly the name `name`. */
export function slippedName(
  { node }: DocumentEntry,
  known: KnownContent,
): DocumentEntry | undefined {
  const others = node.entries.filter((each) => !known.children.has(each.name));
  return others.find((each) => slippedNames(each.name, ['@name']).length > 0);
}

/** The message about such an attribute of an element. */
export function unknownNaming(slip: DocumentEntry, { name }: DocumentEntry): string {
  const seen = quoted(nameInForm(slip.name));
  return `${seen} in ${quoted(name)}: unknown; did you mean "attribute name"?`;
}

/** A name of the tree as messages write it. */
function nameInForm(name: string): string {
  return name.startsWith('@') ? `attribute ${name.slice(1)}` : name;
}
