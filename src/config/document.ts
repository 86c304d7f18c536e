/**
 * A configuration document, YAML or XML, with the place of every part. A YAML mapping has entries,
 * a sequence has items, a scalar has a text. The entries of an XML element are its attributes
 * (`@name`) and its children; it also has text; names may repeat.
 */

import type { FindingList } from './finding-list.ts';
import type { Place } from './source.ts';

export interface DocumentEntry {
  readonly name: string;
  readonly at: Place;
  readonly node: DocumentNode;
}

export interface DocumentNode {
  readonly at: Place;
  readonly entries: readonly DocumentEntry[];
  /** The items of a sequence; undefined for any other node. */
  readonly items?: readonly DocumentNode[];
  /** Undefined for an empty node and for one that has only other content. */
  readonly text?: string;
}

/** The result of reading a text: its root, if it can be read, and its problems. */
export interface ParsedDocument {
  /** The document's root, as an entry. */
  readonly root: DocumentEntry | undefined;
  readonly problems: FindingList;
}
