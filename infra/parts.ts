import type { SystemEvents } from './event-bus.ts'
import type { RolePolicies } from './permissions/role-policies.ts'
import type { TypeReach } from './permissions/type-reach.ts'
import type { FarTimers } from './queues/far-timers.ts'
import type { Messages } from './queues/queues.ts'
import type { Settings } from './settings.ts'
import type { TaskTable } from './task-table.ts'

/** The constructs and settings that all functions of one system share. */
export type Parts = {
  readonly settings: Settings
  readonly table: TaskTable
  readonly messages: Messages
  readonly timers: FarTimers
  readonly events: SystemEvents
  readonly reach: TypeReach
  readonly policies: RolePolicies
}
