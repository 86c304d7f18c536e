/**
 * The record of the data's layout: its format and the number of partitions. It is part of the
 * cluster's record. A join compares it with the layout of the member, which could not find the keys
 * of another one, and writes it if it is missing. Tested by redis-engine.spec.ts.
 */
import { counted } from '../../base/quantities.ts';
import type { Layout } from './layout.ts';
import { StoreUnusable } from './servers.ts';

/** Version of the format of layout.ts and of the stored values. */
const FORMAT = 1;

export function layoutText({ partitionCount }: Layout): string {
  return JSON.stringify({ format: FORMAT, partitionCount });
}

/** Returns the error of a member that cannot use data with this layout record. */
export function layoutFault(text: string, layout: Layout, clusterName: string): StoreUnusable {
  const difference = differenceOf(text, layout.partitionCount);
  return new StoreUnusable(
    `Cannot use the data of cluster "${clusterName}" in the store: ${difference}`,
  );
}

function differenceOf(text: string, partitionCount: number): string {
  const found = parsed(text);
  if (found === undefined) return `its layout record is invalid: "${text.slice(0, 100)}"`;
  if (found.format !== FORMAT) {
    return `its layout has format ${found.format}, but this version supports format ${FORMAT}`;
  }
  const partitions = counted(Number(found.partitionCount), 'partition');
  return `it has ${partitions}, but this member is configured for ${partitionCount}`;
}

function parsed(text: string): { readonly format?: unknown; partitionCount?: unknown } | undefined {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === 'object' && found !== null ? found : undefined;
  } catch {
    return undefined;
  }
}
