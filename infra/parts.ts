import type { SystemEvents } from './event-bus.ts'
import type { FarTimers } from './far-timers.ts'
import type { Messages } from './messages.ts'
import type { Settings } from './settings.ts'
import type { TaskTable } from './task-table.ts'
import type { TypeReach } from './type-reach.ts'

/** What the functions of one system stand on. */
export type Parts = {
  readonly settings: Settings
  readonly table: TaskTable
  readonly messages: Messages
  readonly timers: FarTimers
  readonly events: SystemEvents
  readonly reach: TypeReach
}
