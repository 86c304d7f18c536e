/**
 * A configuration document in either form, with the place of everything in it. A YAML mapping has
 * entries, a sequence items, a scalar text. An XML element has its attributes (`@name`) and children
 * as entries, a name as often as it stands there, and its text.
 */
import type { Place } from './place.ts';
import type { Problems } from './problems.ts';

export interface DocumentEntry {
  readonly name: string;
  readonly at: Place;
  readonly node: DocumentNode;
}

export interface DocumentNode {
  readonly at: Place;
  readonly entries: readonly DocumentEntry[];
  /** The items of a sequence; undefined for what is none. */
  readonly items?: readonly DocumentNode[];
  /** Undefined where there is none: an empty node, or one that has other content only. */
  readonly text?: string;
}

/** What reading a text gives: the root if it can be read at all, and what is wrong with the text. */
export interface ParsedDocument {
  /** The one entry of the root. */
  readonly root: DocumentEntry | undefined;
  readonly problems: Problems;
}
