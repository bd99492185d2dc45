import { createActivityStore } from '../../shared/aws/dynamo/stores/activity-store.ts'
import { systemOfEnvironment } from '../../shared/aws/environment.ts'
import { createDocuments } from '../../shared/aws/system.ts'
import type { ActivityStore } from '../../shared/ports/stores.ts'

/** Composes the store of the activity of types. Only the planner and the API load this file. */
export function composeActivityStore(): ActivityStore {
  const { table } = systemOfEnvironment()
  return createActivityStore(createDocuments(), { table })
}
