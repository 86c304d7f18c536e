/**
 * The record of the layout, in the cluster's own record: its format and the count of partitions. Each join
 * compares it with that of the member, as keys would not be found otherwise, and writes it where there is
 * none.
 */
import type { Layout } from './layout.ts';
import { StoreUnusable } from './servers.ts';

/** Of layout.ts, and of the values. */
const FORMAT = 1;

export function layoutText({ partitionCount }: Layout): string {
  return JSON.stringify({ format: FORMAT, partitionCount });
}

/** Why a member cannot use data whose record has that text. */
export function layoutFault(text: string, layout: Layout, clusterName: string): StoreUnusable {
  const difference = differenceOf(text, layout.partitionCount);
  return new StoreUnusable(
    `Cannot use the data of cluster "${clusterName}" in the store: ${difference}`,
  );
}

function differenceOf(text: string, partitionCount: number): string {
  const found = parsed(text);
  if (found === undefined) return `its layout is "${text.slice(0, 100)}", which is none`;
  if (found.format !== FORMAT) {
    return `its layout has format ${found.format}, and this version knows format ${FORMAT}`;
  }
  return `it has ${found.partitionCount} partitions, and this member is set to ${partitionCount}`;
}

function parsed(text: string): { readonly format?: unknown; partitionCount?: unknown } | undefined {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === 'object' && found !== null ? found : undefined;
  } catch {
    return undefined;
  }
}
