import { ownerPartition, viewPartition } from './place.ts'
import type { Task } from './task.ts'

/** Where an entry stands in an index: its partition, and its position there. */
type IndexKey = { readonly partition: string; readonly sort: number | string }

export type IndexKeys = { readonly [index in 'view' | 'place' | 'owner']?: IndexKey }

/** The entries of a task in the indexes, as they follow from the task. Every store keeps exactly these. */
export function indexKeys({ type, shard, view, place, userId, createdAt }: Task): IndexKeys {
  return {
    ...(view && { view: { partition: viewPartition(type, view.bucket, shard), sort: view.sort } }),
    ...(place && { place: { partition: place.name, sort: place.order } }),
    ...(userId !== undefined && { owner: { partition: ownerPartition(userId), sort: createdAt } }),
  }
}
