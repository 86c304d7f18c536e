/**
 * Messages about unknown names in a document, with similar known names.
 * Tested by broken-files.spec.ts.
 */
import { SETTINGS_IN_MESSAGES } from '../base/settings-in-messages.ts';
import type { DocumentEntry } from './document.ts';
import type { SectionSchema } from './document-schema.ts';
import { quoted } from './finding-list.ts';
import { hintOf, nearestNames, slippedNames } from './nearest-name.ts';

/** Maximum number of known names that a message lists besides the nearest one. */
const NAMES_LISTED_MAX = 12;

/** Names at the root of 3.x files of the original, with their replacements. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['group', SETTINGS_IN_MESSAGES.clusterName],
  ['quorum', 'split-brain-protection'],
  ['semaphore', 'cp-subsystem'],
]);

/** Returns the message about an unknown name. `section`: its location, with "in" or "at". */
export function unknownName(name: string, schema: SectionSchema, section: string): string {
  const names = [...schema.children.keys()];
  const replacement = RENAMED.get(name);
  if (replacement !== undefined && schema.children.has(replacement)) {
    return `${quoted(name)} ${section}: a name of 3.x files; ${replacement} replaces ${name}`;
  }
  const isFree = schema.named !== undefined || schema.isOpen;
  const nearest = isFree ? slippedNames(name, names) : nearestNames(name, names);
  const isLong = names.length > NAMES_LISTED_MAX && nearest.length > 0;
  const list = isLong || isFree ? '' : ` (known: ${names.map(nameInForm).sort().join(', ')})`;
  const hint = hintOf(nearest.map(nameInForm));
  return `${quoted(nameInForm(name))} ${section}: unknown${hint}${list}`;
}

/** Returns an attribute whose name is nearly `name`. */
export function slippedName(
  { node }: DocumentEntry,
  schema: SectionSchema,
): DocumentEntry | undefined {
  const others = node.entries.filter((each) => !schema.children.has(each.name));
  return others.find((each) => slippedNames(each.name, ['@name']).length > 0);
}

/** Returns the message about an attribute of an element that is a misspelt `name`. */
export function unknownNaming(slip: DocumentEntry, { name }: DocumentEntry): string {
  const seen = quoted(nameInForm(slip.name));
  return `${seen} in ${quoted(name)}: unknown; did you mean "attribute name"?`;
}

/** Returns a name of the tree in the form for messages. */
function nameInForm(name: string): string {
  return name.startsWith('@') ? `attribute ${name.slice(1)}` : name;
}
